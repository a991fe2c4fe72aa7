"""The real Envoy refuses what its gateway could not answer in time, and what is under way later than what is new."""

from __future__ import annotations

import asyncio
import base64
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import httpx
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from mesh.description.ports import Ports
from mesh.description.topology import load_topology
from mesh.edge.admission import CHECKOUT, GATEWAYS, LIMITS, PRIORITY, UNDER_WAY
from mesh.edge.component import ACCESS_LOG, edge_component
from mesh.edge.plan import edge_plan
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run

pytestmark = pytest.mark.integration

CUSTOMERS = 30
"""More than the edge lets in at a time when answers are slow, and fewer than when they are quick."""
LEARNING_S, LOAD_S = 1.5, 3.0
SLOW_S = 2 * LIMITS[-1].times * GATEWAYS.median_ms / 1_000
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class EdgeRun(Run):
    """An edge alone."""

    def port_names(self) -> list[str]:
        """Its own."""
        return ["edge"]

    def components(self) -> list[Component]:
        """The edge."""
        plan = edge_plan(load_topology("hybrid", updates="on"), self.ports, self.logs / ACCESS_LOG, admission=True)
        return [edge_component("envoy", plan, self.folder, os.environ)]


@pytest.fixture(scope="module")
def edge(free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeRun]:
    ports = free_ports()
    with EdgeRun(ports, RunFolder.of(ports.base, root=tmp_path_factory.mktemp("edge"))) as run:
        yield run


@asynccontextmanager
async def gateway(edge: EdgeRun, answers_after_s: float) -> AsyncIterator[None]:
    """A stand-in that answers everything after the same time, as many requests as there are."""

    connected: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await asyncio.sleep(answers_after_s)
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", edge.ports["rest-gateway"], backlog=CUSTOMERS):
        try:
            yield
        finally:
            for writer in connected:
                writer.close()


async def statuses(edge: EdgeRun, path: str, headers: dict[str, str], customers: int = CUSTOMERS) -> Counter[int]:
    """What customers are answered who ask again and again, once the edge knows how long answers take."""
    seen: Counter[int] = Counter()
    async with aiohttp.ClientSession(edge.ports.url("edge")) as client:

        async def customer() -> None:
            while True:
                async with client.get(path, headers=headers) as answer:
                    seen[answer.status] += 1
                await asyncio.sleep(0.02)

        try:
            async with asyncio.timeout(LOAD_S), asyncio.TaskGroup() as crowd:
                for _ in range(customers):
                    crowd.create_task(customer())
                await asyncio.sleep(LEARNING_S)
                seen.clear()
        except TimeoutError:
            return seen


@pytest.mark.parametrize("answers_after_s", [0.0, SLOW_S])
async def test_as_many_as_the_least_are_always_let_in(edge: EdgeRun, answers_after_s: float) -> None:
    """More are while answers are quick, which a busy machine does not promise."""
    async with gateway(edge, answers_after_s):
        assert set(await statuses(edge, "/v1/products", {}, GATEWAYS.least)) == {200}


@pytest.mark.parametrize(("median_times", "refused", "let_in"), [(1.4, None, CHECKOUT), (2.8, CHECKOUT, UNDER_WAY)])
async def test_new_requests_are_refused_before_checkouts_and_these_before_what_is_under_way(
    edge: EdgeRun, median_times: float, refused: str | None, let_in: str
) -> None:
    # Too slow for the first: a limit gives way to what is a little slower. Quick enough for the others, even where a
    # busy machine adds some more.
    async with gateway(edge, median_times * GATEWAYS.median_ms / 1_000):
        first = await statuses(edge, "/v1/products", {PRIORITY: refused} if refused else {})
        others = await statuses(edge, "/v1/products", {PRIORITY: let_in})
    assert first[503] > first[200] > 0
    assert set(others) == {200}


async def test_those_under_way_are_refused_too_in_the_end(edge: EdgeRun) -> None:
    async with gateway(edge, SLOW_S):
        under_way = await statuses(edge, "/v1/products", {PRIORITY: UNDER_WAY})
    assert under_way[503] > 0 < under_way[200]


async def test_answers_that_last_are_not_counted(edge: EdgeRun) -> None:
    async with gateway(edge, SLOW_S):
        assert set(await statuses(edge, "/v1/orders/1/events?after=2", {})) == {200}


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/v1/products", "application/problem+json"), ("/graphql", "application/json")],
)
def test_a_refusal_says_when_to_come_again(edge: EdgeRun, path: str, kind: str) -> None:
    """Nothing is behind the edge here, which is the same refusal."""
    answer = httpx.get(edge.ports.url("edge") + path, trust_env=False)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.headers["content-type"] == kind
    told = answer.json()
    if path == "/graphql":
        assert told["errors"][0]["extensions"] == {"code": "UNAVAILABLE", "retryAfter": 1}
    else:
        assert told["code"] == "UNAVAILABLE"


def test_a_refused_call_says_so_too(edge: EdgeRun) -> None:
    headers = {"content-type": "application/grpc"}
    answer = httpx.post(edge.ports.url("edge") + "/v1/products", headers=headers, trust_env=False)
    assert answer.headers["grpc-status"] == "14"
    details = answer.headers["grpc-status-details-bin"]
    status = Status.FromString(base64.b64decode(details + "=" * (-len(details) % 4)))
    reason, again = ErrorInfo(), RetryInfo()
    assert status.details[0].Unpack(reason)
    assert status.details[1].Unpack(again)
    assert (status.code, reason.reason, again.retry_delay.seconds) == (14, "UNAVAILABLE", 1)


def test_a_refusal_is_in_the_access_log(edge: EdgeRun) -> None:
    httpx.get(edge.ports.url("edge") + "/v1/products", trust_env=False)
    assert '"status":503' in Path(edge.logs / ACCESS_LOG).read_text()
