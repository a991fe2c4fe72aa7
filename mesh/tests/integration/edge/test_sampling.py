"""The real Envoy traces its configured share of requests, regardless of the senders' sampling flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx
import pytest
from stand_ins import QuietHandler, edge_run, serve

from mesh.description.ports import HOST, Ports
from mesh.description.topology import load_topology
from mesh.edge.component import ACCESS_LOG
from mesh.edge.plan import EdgePlan
from mesh.paths import RunFolder

TRACED, UNTRACED = (f"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0{flag}" for flag in (1, 0))


class Gateway(QuietHandler):
    """Answers with the trace context of the request."""

    protocol_version = "HTTP/1.0"  # an open connection would outlive the gateway

    def do_GET(self) -> None:  # noqa: N802  http.server calls it by this name
        # The edge's health checks have no trace context.
        self.answer(self.headers.get("traceparent", "").encode())


@pytest.fixture
def flags(ports: Ports, folder: RunFolder) -> Callable[[float], Iterator[str]]:
    """The flags that a component gets for requests without a trace context, with a sampled context, and with an
    unsampled context."""
    plan = EdgePlan(load_topology("hybrid"), ports, folder.logs / ACCESS_LOG)

    def collect(sampling: float) -> Iterator[str]:
        run = edge_run(replace(plan, sampling=sampling), ports, folder)
        with serve(Gateway, (HOST, ports["rest-gateway"])), run:
            for given in (None, TRACED, UNTRACED):
                headers = {} if given is None else {"traceparent": given}
                answer = httpx.get(f"{ports.url('edge')}/v1/products", headers=headers, timeout=10)
                yield answer.text.rpartition("-")[2]

    return collect


def test_every_request_is_traced_unless_its_sender_opts_out(flags: Callable[[float], Iterator[str]]) -> None:
    assert list(flags(100.0)) == ["01", "01", "00"]


def test_a_sender_cannot_force_tracing(flags: Callable[[float], Iterator[str]]) -> None:
    assert list(flags(0.0)) == ["00", "00", "00"]
