"""Documents of the generator, answered by the gateway and by graphql-core."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson
import uvloop

from graphql_gateway.schema import build_schema
from mesh.paths import ROOT
from platform_bench.graphql.bare import GraphqlCore
from platform_bench.graphql.gateway import Gateway
from platform_bench.graphql.prepared_shop import CATEGORY, ORDERS
from shop.platform.process.lifecycle import spare_collections

TARGET = 1.5
DOCUMENTS = ROOT / "load" / "internal" / "graphql" / "documents"


class InThisProcess:
    """One side: the same request again and again, on an event loop as the shop's processes have it.

    Args:
        loop: The event loop.
        handler: Answers the body of a request.
        body: The body.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, handler: Callable[[bytes], Awaitable[bytes]], body: bytes
    ) -> None:
        self._loop = loop
        self._handler = handler
        self._body = body

    def answer(self) -> object:
        return self._loop.run_until_complete(self._one())

    def cpu_us(self, count: int) -> float:
        return self._loop.run_until_complete(self._many(count))

    async def _one(self) -> bytes:
        return await self._handler(self._body)

    async def _many(self, count: int) -> float:
        before = time.thread_time_ns()
        for _ in range(count):
            await self._handler(self._body)
        return (time.thread_time_ns() - before) / 1000


@dataclass(frozen=True, slots=True)
class DocumentCase:
    """A document of the generator.

    Attributes:
        name: Name on the command line and in the table.
        document: Name of the document's file.
        variables: Values of its variables.
        most: Largest ratio of the gateway's CPU time per request to graphql-core's.
        weight: A request takes about as long as so many calls of the other cases, and is sent that much less often.
    """

    name: str
    document: str
    variables: dict[str, object]
    most: float = TARGET
    weight: int = 20

    def sides(self) -> tuple[InThisProcess, InThisProcess]:
        """Returns the gateway and graphql-core, ready to answer, in a process as all of the shop's are."""
        loop = uvloop.new_event_loop()
        gateway, core = Gateway(), GraphqlCore(build_schema().as_str())
        text = (DOCUMENTS / f"{self.document}.graphql").read_text()
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        persisted = {
            "variables": self.variables,
            "extensions": {"persistedQuery": {"version": 1, "sha256Hash": sha256}},
        }
        # As clients do: the text comes once, and its hash from then on.
        core.prepare(sha256, text, loop.run_until_complete(gateway.answer(orjson.dumps({"query": text, **persisted}))))
        body = orjson.dumps(persisted)
        spare_collections()
        return InThisProcess(loop, gateway.answer, body), InThisProcess(loop, core.answer, body)


DOCUMENT_CASES = (
    DocumentCase("graphql-browse", "browse", {"category": CATEGORY}),
    DocumentCase("graphql-order-history", "order_history", {"first": ORDERS}),
)
