"""Where callers have identities, no forged header makes an outside caller count as a component of the shop.

Every operation of every service is called through the edge. It is also called through the edge's sidecar with the
edge's certificate, as an intruder in the edge could do. To show that no call is refused for another reason, each call
is also made at the service's own socket, as the sidecar makes another service's calls. There it must be admitted.
REST represents gRPC: proxies treat the headers of both alike, and services read them in the same way.
"""

from __future__ import annotations

import itertools
import re
import ssl
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from stand_ins import needs_istio, needs_kong

from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import EDGE, Protocol, load_topology
from mesh.native.system import System
from mesh.sidecars.certificates import Authority, issue
from mesh.sidecars.workloads import identity

from .over_rest import service_documents

Headers = Sequence[tuple[str, str]]

CERTIFICATE = "x-forwarded-client-cert"
OF_ORDER = f"By={identity('product')};Hash={'0f' * 32};URI={identity('order')}"
FORGED: dict[str, Headers] = {
    "a certificate": [(CERTIFICATE, OF_ORDER)],
    "two certificates": [(CERTIFICATE, OF_ORDER), (CERTIFICATE, f"URI={identity('user')}")],
    "a list of certificates": [(CERTIFICATE, f"{OF_ORDER},{OF_ORDER}")],
    "an open quote": [(CERTIFICATE, f'{OF_ORDER};Subject="')],
    "no mark": [("x-hopwise-edge", "")],
    "a mark and a certificate": [("x-hopwise-edge", "0"), (CERTIFICATE, OF_ORDER)],
    "an internal caller": [("x-envoy-internal", "true"), ("x-forwarded-for", "127.0.0.1"), (CERTIFICATE, OF_ORDER)],
    "a peer of Istio's": [("x-envoy-peer-metadata-id", "sidecar~127.0.0.7~order"), (CERTIFICATE, OF_ORDER)],
}


class Operation(NamedTuple):
    """One operation of one service, as the request that calls it."""

    service: str
    name: str
    verb: str
    path: str
    body: bytes | None


@pytest.fixture(
    params=[
        ("envoy", "envoy"),
        pytest.param(("istio", "envoy"), marks=needs_istio),
        pytest.param(("envoy", "kong"), marks=needs_kong),
    ],
    ids="-".join,
)
def shop(request: pytest.FixtureRequest, shop_ports: Ports) -> Iterator[System]:
    mesh, edge = request.param
    switches = parse_switches(mesh=mesh, mtls="on", edge=edge, trace=0)
    with System(load_topology("rest"), switches, shop_ports, "forged") as system:
        yield system


def test_no_stranger_counts_as_inside(shop: System, tmp_path: Path) -> None:
    edge = issue(Authority(shop.folder.keys / "mesh-ca"), [identity(EDGE)], tmp_path)
    trusting = ssl.create_default_context(cafile=str(edge.trusted))
    trusting.check_hostname = False
    trusting.load_cert_chain(edge.chain, edge.key)
    closed: Counter[str] = Counter()
    for service, operations in itertools.groupby(operations_of_services(), lambda operation: operation.service):
        own = next(workload for workload in shop.workloads if workload.name == service)
        by_edge = next(workload for workload in shop.workloads if workload.name == EDGE).outbound
        sidecar = next(outbound for outbound in by_edge if outbound.callee == service)
        inbound = own.inbound_of(Protocol.REST)
        with (
            client(shop.url) as through_edge,
            client(f"http://{sidecar.authority}", uds=str(sidecar.socket)) as past_edge,
            client(f"https://{own.address}:{inbound.port}", verify=trusting) as past_sidecar,
            client("http://inside", uds=str(inbound.socket)) as inside,
        ):
            for operation in operations:
                if any(admits(way, operation, ()) for way in (through_edge, past_edge, past_sidecar)):
                    continue  # anybody may call this operation
                closed[service] += 1
                for forgery, headers in FORGED.items():
                    for way in (through_edge, past_edge, past_sidecar):
                        assert not admits(way, operation, headers), (operation, way.base_url, forgery)
                assert admits(inside, operation, FORGED["a certificate"]), operation
    assert set(closed) == set(shop.topology.exposed)
    assert min(closed.values()) >= 3, closed


def client(base: str, **transport: Any) -> httpx.Client:
    return httpx.Client(base_url=base, transport=httpx.HTTPTransport(**transport), timeout=10)


def admits(way: httpx.Client, operation: Operation, forged: Headers) -> bool:
    """Whether the service admits an operation, even if it then rejects its arguments."""
    sent = [("content-type", "application/json"), *forged]
    answer = way.request(operation.verb, operation.path, content=operation.body, headers=sent)
    return answer.status_code not in (401, 403)


def operations_of_services() -> Iterator[Operation]:
    for service, document in zip(("order", "payment", "product", "user"), service_documents(), strict=True):
        for path, operations in document["paths"].items():
            for verb, operation in operations.items():
                body = b"{}" if "requestBody" in operation else None
                asked = re.sub(r"\{\w+\}", "1", path)
                yield Operation(service, operation["operationId"], verb.upper(), asked, body)
