"""A topology to fuzz: sends inputs to it, and checks its state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, Self
from urllib.request import ProxyHandler, build_opener

import psycopg
from graphql import build_schema

from fuzz.edge import ENCRYPTED, PLAIN, QUERY, edge_inputs
from fuzz.graphql import graphql_inputs
from fuzz.grpc import browser_inputs, grpc_inputs
from fuzz.inputs import Input, with_spoilt
from fuzz.judge import ANSWERED, judge, log_faults
from fuzz.rest import rest_inputs
from fuzz.wire import Answer, Sender, h1_request, h2_request
from mesh.components.keys import key_pair
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.description.ports import Ports
from mesh.description.switches import HTTP3, parse_switches
from mesh.description.topology import EDGE, Protocol, load_topology, names, port_name
from mesh.native.system import System
from mesh.paths import ROOT, RunFolder
from shop.platform.access.jwt import Principal, TokenSigner

AT_ONCE = {"edge": 100, "grpc": 100}
USUALLY_AT_ONCE = 24
EDGE_PATIENCE_S, PATIENCE_S = 0.2, 15.0
"""How long to wait for an answer. The edge's own limit is shorter; many inputs to it are no requests and get none."""
SCHEMA = ROOT / "graphql-gateway" / "schema.graphql"
PERSONS = "SELECT DISTINCT unnest(ARRAY[name, recipient, street]) FROM shop_user.account WHERE id <= 40"
LISTS_PRODUCTS = "/shop.product.v1.ProductService/ListProducts"
CALL = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", LISTS_PRODUCTS.encode()),
    (b":authority", b"shop"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
]


class Shop:
    """A topology, with order updates if it supports them; `hybrid` has TLS and HTTP/3. Use it in a `with` block."""

    def __init__(self, name: str, ports: Ports, folder: RunFolder) -> None:
        updates = "on" if name in names(updates="on") else "off"
        self.system = System(
            load_topology(name, updates=updates),
            parse_switches(updates=updates, trace=0, http=HTTP3 if name == "hybrid" else None),
            ports,
            "fuzz",
            folder=folder,
        )

    def __enter__(self) -> Self:
        self.system.__enter__()
        try:
            self._loop = asyncio.Runner()
            self._sender = Sender(self.system.ports[EDGE], self.system.ca_certificate)
            signer = TokenSigner(key_pair(self.system.folder.keys).private.read_bytes())
            partner, customer = (f"Bearer {signer.sign(Principal(kind, 1))}" for kind in ("partner", "customer"))
            invalid = ["", f"{customer[:-9]}AAAAAAAAA", "Bearer \xff", "Basic e30="]
            self._tokens = [*[partner] * 4, *[customer] * 2, *invalid]
            with closing(psycopg.connect(self.system.database.admin_url_of(TRIAL_DATABASE))) as database:
                self._persons = [text for (text,) in database.execute(PERSONS)]
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.close()
        self.system.__exit__(kind, error, trace)

    def inputs(self, surface: str, seed: str) -> Iterator[Input]:
        """Yields inputs to a surface endlessly."""
        over = "tcp" if self.system.ca_certificate is None else "tls"
        match surface:
            case "rest":
                return with_spoilt(rest_inputs(f"{over}-h1", self._documents(), self._tokens, seed), seed)
            case "graphql":
                schema = build_schema(SCHEMA.read_text())
                return with_spoilt(graphql_inputs(f"{over}-h1", schema, self._tokens, seed), seed)
            case "grpc":
                return grpc_inputs(f"{over}-h2", self._tokens, seed)
            case "grpc-web" | "connect":
                return browser_inputs(surface, f"{over}-h1", self._tokens, seed)
        return edge_inputs(PLAIN if over == "tcp" else ENCRYPTED, self.system.ports[EDGE], seed)

    def _documents(self) -> Sequence[Mapping[str, Any]]:
        behind = self.system.topology.behind_edge.items()
        ports = [port_name(component, protocol) for component, protocol in behind if protocol is Protocol.REST]
        direct = build_opener(ProxyHandler({}))
        documents = []
        for name in ports:
            with direct.open(f"{self.system.ports.url(name)}/openapi.json", timeout=PATIENCE_S) as answer:
                documents.append(json.load(answer))
        return documents

    def try_inputs(self, surface: str, batch: Sequence[Input]) -> Sequence[tuple[str, str, str]]:
        """Sends inputs at the same time; returns for each the class of the result, what is wrong, and the answer."""
        patience_s = EDGE_PATIENCE_S if surface == "edge" else PATIENCE_S
        answers = self._loop.run(self._all(batch, patience_s, AT_ONCE.get(surface, USUALLY_AT_ONCE)))
        return [
            (*judge(one.data, answer, must_answer=surface != "edge"), str(answer))
            for one, answer in zip(batch, answers, strict=True)
        ]

    async def _all(self, batch: Sequence[Input], patience_s: float, at_once: int) -> Sequence[Answer]:
        free = asyncio.Semaphore(at_once)

        async def send(one: Input) -> Answer:
            async with free:
                return await self._sender.send(one.way, one.data, patience_s)

        return await asyncio.gather(*map(send, batch))

    def wrong(self) -> str:
        """Returns which valid request got no valid answer, and why; else "". Raises ComponentDiedError if one died."""
        self.system.check()
        over = "tcp" if self.system.ca_certificate is None else "tls"
        good = {
            Protocol.REST: Input(f"{over}-h1", h1_request("GET", "/v1/products?page_size=1")),
            Protocol.GRAPHQL: Input(
                f"{over}-h1", h1_request("POST", "/graphql", [("content-type", "application/json")], QUERY)
            ),
            Protocol.GRPC: Input(f"{over}-h2", h2_request(CALL, b"\0\0\0\0\0")),
            Protocol.CONNECT: Input(
                f"{over}-h1", h1_request("POST", LISTS_PRODUCTS, [("content-type", "application/json")], b"{}")
            ),
        }
        for protocol in set(self.system.topology.behind_edge.values()):
            ((kind, fault, _),) = self.try_inputs("", [good[protocol]])
            if kind != ANSWERED or fault:
                return f"a good request over {protocol} is {kind} {fault}"
        return ""

    def faults(self) -> Mapping[str, str]:
        """Returns the faults found in the components' logs, each with the first line that shows it."""
        return log_faults(self.system.logs.iterdir(), self._persons)
