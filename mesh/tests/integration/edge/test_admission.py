"""The real Envoy refuses requests that its gateway could not answer in time: new journeys first, and journeys that have
begun last."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, suppress

import aiohttp
import grpc
import httpx
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from stand_ins import edge_run, until

from mesh.description.ports import Ports
from mesh.description.topology import load_topology
from mesh.edge.admission import BUSY_SHARE, CHECKOUT, HASHES, LIMITS, OF_GATEWAY, PRIORITY, UNDER_WAY
from mesh.edge.component import ACCESS_LOG
from mesh.edge.limits import OPENINGS
from mesh.edge.plan import EdgePlan
from mesh.paths import RunFolder
from mesh.supervisor.run import Run

CUSTOMERS, MIN_BUSY = 30, int(BUSY_SHARE * OF_GATEWAY.min_requests)
"""Number of customers: more than the edge admits at a time if answers are slow, and fewer if answers are quick."""
LEARNING_S, COUNTED_S = 1.5, 1.0
LIMIT_S = 30.0
TIMES = 10
SLOW_S = 2 * LIMITS[-1].times * OF_GATEWAY.median_ms / 1_000
HASH_S = 1.2 * HASHES.times * OF_GATEWAY.median_ms / 1_000
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def edge(free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("edge"))
    topology = load_topology("hybrid", updates="on")
    with edge_run(EdgePlan(topology, ports, folder.logs / ACCESS_LOG, admission=True), ports, folder) as run:
        yield run


@asynccontextmanager
async def gateway(
    edge: Run, answers_after_s: float, component: str = "rest-gateway", *, slow: bytes | tuple[bytes, ...] = b""
) -> AsyncIterator[None]:
    """A stand-in that answers requests that begin with `slow` after that time, and all others immediately."""

    connected: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(slow):
                    await asyncio.sleep(answers_after_s)
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", edge.ports[component], backlog=CUSTOMERS):
        try:
            yield
        finally:
            for writer in connected:
                writer.close()


async def statuses(
    edge: Run,
    path: str,
    headers: dict[str, str],
    customers: int = CUSTOMERS,
    method: str = "GET",
    pause_s: float = 0.02,
    *,
    awaited: Collection[int] = (),
) -> Counter[int]:
    """Counts the answers to customers who send requests in a loop, once the edge has measured response times.

    Counting ends only when the `awaited` statuses have occurred: on a busy machine, there are few slow answers.
    """
    seen, there = Counter[int](), asyncio.Event()
    async with aiohttp.ClientSession(edge.ports.url("edge")) as client:

        async def customer() -> None:
            while True:
                async with client.request(method, path, headers=headers) as answer:
                    seen[answer.status] += 1
                    if seen.keys() >= set(awaited):
                        there.set()
                await asyncio.sleep(pause_s)

        async with asyncio.TaskGroup() as crowd:
            tasks = [crowd.create_task(customer()) for _ in range(customers)]
            await asyncio.sleep(LEARNING_S)
            seen.clear()
            there.clear()
            await asyncio.sleep(COUNTED_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(there.wait(), LIMIT_S)
            for task in tasks:
                task.cancel()
    return seen


@pytest.mark.parametrize("answers_after_s", [0.0, SLOW_S])
async def test_the_minimum_is_always_admitted(edge: Run, answers_after_s: float) -> None:
    """The edge admits more requests while answers are quick, but a busy machine does not guarantee quick answers."""
    async with gateway(edge, answers_after_s):
        assert set(await statuses(edge, "/v1/products", {}, MIN_BUSY)) == {200}


@pytest.mark.parametrize("busy", [{"authorization": "Bearer busy"}, {}], ids=["a customer", "an address"])
async def test_busy_callers_leave_capacity_to_others(edge: Run, busy: dict[str, str]) -> None:
    others = {"authorization": "Bearer calm"}
    async with gateway(edge, SLOW_S):
        many, few = await asyncio.gather(
            statuses(edge, "/v1/products", busy, awaited=(200, 503)),
            statuses(edge, "/v1/products", others, 1, pause_s=1.0, awaited=(200,)),
        )
    assert many[503] > many[200] > 0
    # A busy machine may answer so late that the edge also refuses some of the few requests from others.
    assert few[200] / few.total() > many[200] / many.total()


@pytest.mark.parametrize(("median_times", "refused", "let_in"), [(1.4, None, CHECKOUT), (2.8, CHECKOUT, UNDER_WAY)])
async def test_new_requests_are_refused_before_checkouts_and_checkouts_before_requests_under_way(
    edge: Run, median_times: float, refused: str | None, let_in: str
) -> None:
    # These answers are clearly too slow for the first limit, which tolerates slightly slow answers. They are quick
    # enough for the other limits, unless a busy machine adds time.
    async with gateway(edge, median_times * OF_GATEWAY.median_ms / 1_000):
        for _ in range(TIMES):
            first = await statuses(edge, "/v1/products", {PRIORITY: refused} if refused else {})
            others = await statuses(edge, "/v1/products", {PRIORITY: let_in})
            assert first[503] > first[200] > 0
            if others[503] < others[200]:
                return
    pytest.fail(f"most were refused each of {TIMES} times, at last {others}")


async def test_requests_under_way_are_refused_last(edge: Run) -> None:
    async with gateway(edge, SLOW_S):
        under_way = await statuses(edge, "/v1/products", {PRIORITY: UNDER_WAY}, awaited=(200, 503))
    assert under_way[503] > 0 < under_way[200]


async def test_long_lived_answers_are_not_counted(edge: Run) -> None:
    async with gateway(edge, SLOW_S):
        assert set(await statuses(edge, "/v1/orders/1/events?after=2", {})) == {200}


async def test_a_token_that_opens_web_sockets_without_end_is_refused_and_no_other_is(edge: Run) -> None:
    upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    async with gateway(edge, 0.0, "graphql-gateway"), aiohttp.ClientSession(edge.ports.url("edge")) as client:

        async def open_socket(token: str) -> int:
            headers = {**upgrade, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "authorization": f"Bearer {token}"}
            async with client.get("/graphql/stream", headers=headers) as answer:
                return answer.status

        eager = set[int]()
        for _ in range(OPENINGS):
            eager.update(await asyncio.gather(*(open_socket("eager") for _ in range(5))))
            if 429 in eager:
                break
        assert (eager, await open_socket("calm")) == ({200, 429}, 200)


async def test_one_component_s_congestion_refuses_no_request_for_another(edge: Run) -> None:
    async with gateway(edge, SLOW_S, "graphql-gateway"), gateway(edge, 0.0):
        congested, others = await asyncio.gather(
            statuses(edge, "/graphql", {}, awaited=[503]), statuses(edge, "/v1/products", {}, MIN_BUSY)
        )
    assert congested[503] > 0
    assert set(others) == {200}


async def test_slow_requests_have_a_separate_limit_and_do_not_count_as_congestion(edge: Run) -> None:
    async with gateway(edge, HASH_S, slow=(b"POST", b"GET /v1/order-lines")):
        logins, bulk, reads = await asyncio.gather(
            statuses(edge, "/v1/sessions", {}, method="POST", awaited=(200, 503)),
            statuses(edge, "/v1/order-lines?page_size=10000", {}, awaited=(200, 503)),
            statuses(edge, "/v1/products", {}, MIN_BUSY),
        )
    assert logins[503] > 0 < logins[200]
    assert bulk[503] > 0 < bulk[200]
    assert set(reads) == {200}


async def test_only_a_post_is_slow_by_nature(edge: Run) -> None:
    async with gateway(edge, HASH_S):
        sign_ups, reads = await asyncio.gather(
            statuses(edge, "/v1/users", {}, HASHES.min_requests, "POST", awaited=[200]),
            statuses(edge, "/v1/users", {}, awaited=[503]),
        )
    assert set(sign_ups) == {200}
    assert reads[503] > 0


async def test_requests_for_the_transcoder_are_limited_too(ports: Ports, folder: RunFolder) -> None:
    async def answer(_request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        await asyncio.sleep(SLOW_S)
        return b""

    server = grpc.aio.server()
    handlers = {"GetOrder": grpc.unary_unary_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shop.order.v1.OrderService", handlers)])
    server.add_insecure_port(f"127.0.0.1:{ports['order-grpc']}")
    await server.start()
    try:
        plan = EdgePlan(load_topology("hybrid-transcoded"), ports, folder.logs / ACCESS_LOG, admission=True)
        with edge_run(plan, ports, folder) as transcoding:
            async with httpx.AsyncClient(trust_env=False) as client:
                nowhere = await client.get(transcoding.ports.url("edge") + "/v1/orders/1/2/3")
            orders = await statuses(transcoding, "/v1/orders/1", {}, awaited=(200, 503))
    finally:
        await server.stop(0)
    assert nowhere.status_code == 404
    assert orders[503] > 0 < orders[200]


@pytest.mark.parametrize(
    ("path", "kind"), [("/v1/products", "application/problem+json"), ("/graphql", "application/json")]
)
def test_a_refusal_has_a_retry_delay(edge: Run, path: str, kind: str) -> None:
    """Nothing runs behind this edge, which makes it send the same refusal as an overload."""
    answer = httpx.get(edge.ports.url("edge") + path, trust_env=False)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.headers["content-type"] == kind
    body = answer.json()
    if path == "/graphql":
        assert body["errors"][0]["extensions"] == {"code": "UNAVAILABLE", "retryAfter": 1}
    else:
        assert body["code"] == "UNAVAILABLE"


def test_a_refused_call_has_a_retry_delay(edge: Run) -> None:
    headers = {"content-type": "application/grpc"}
    answer = httpx.post(edge.ports.url("edge") + "/v1/products", headers=headers, trust_env=False)
    assert answer.headers["grpc-status"] == "14"
    details = answer.headers["grpc-status-details-bin"]
    status = Status.FromString(base64.b64decode(details + "=" * (-len(details) % 4)))
    reason, again = ErrorInfo(), RetryInfo()
    assert status.details[0].Unpack(reason)
    assert status.details[1].Unpack(again)
    assert (status.code, reason.reason, again.retry_delay.seconds) == (14, "UNAVAILABLE", 1)


def test_a_refusal_is_in_the_access_log(edge: Run) -> None:
    httpx.get(edge.ports.url("edge") + "/v1/products", trust_env=False)
    # Envoy writes its log every 10 s.
    until(lambda: '"status":503' in (edge.logs / ACCESS_LOG).read_text())
