"""No headers that one client sends affect other clients, or break anything behind the edge."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

from shop.stubs import product_pb2, product_pb2_grpc

GET_PRODUCT = "/shop.product.v1.ProductService/GetProduct"
CALL = b"\0\0\0\0\2\x08\1"  # GetProduct of product 1, uncompressed
QUERY = json.dumps({"query": "{products(first:1){edges{node{id}}}}"}).encode()
TRACE = b"4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

SAMPLED = (b"traceparent", b"00-" + TRACE + b"-01")
VALUES: dict[bytes, tuple[bytes, ...]] = {
    b"grpc-timeout": (b"zzz", b"", b"-1S", b"999999999S"),
    **dict.fromkeys((b"grpc-previous-rpc-attempts", b"grpc-retry-pushback-ms"), (b"x",)),
    **dict.fromkeys((b"grpc-encoding", b"grpc-accept-encoding", b"grpc-status"), (b"zzz",)),
    **dict.fromkeys((b"grpc-internal-encoding-request", b"content-encoding", b"accept"), (b"zzz",)),
    **dict.fromkeys((b"grpc-trace-bin", b"any-bin"), (b"!!!",)),
    b"any&thing": (b"1",),
    b"te": (b"gzip", b""),
    b"content-type": (b"text/plain", b"\xff/\xfe; charset=\xfd", b"application/grpc+zzz"),
    b"accept-encoding": (b"zzz;q=x, *;q=-1",),
    b"traceparent": (b"zzz", b"00-" + TRACE + b"-zz", b"ff-" + TRACE + b"-01", b"00-%b-%b-01" % (b"0" * 32, b"0" * 16)),
    b"authorization": (b"Bearer \xff\xfe", b"Bearer " + b"e30." * 5_000),
    b"x-any": (b"x" * 70_000,),
    **dict.fromkeys((b"x-envoy-upstream-rq-timeout-ms", b"x-envoy-expected-rq-timeout-ms"), (b"1",)),
    b"x-hopwise-edge": (b"\xff",),
    **dict.fromkeys((b"x-request-id", b"idempotency-key"), (b"\xff" * 300,)),
    b"if-none-match": (b'W/"\xff',),
    b"accept-language": (b"\xff;q=zzz",),
}
MALFORMED: list[list[tuple[bytes, bytes]]] = [
    *[[(name, value)] for name, values in VALUES.items() for value in values],
    [(b"grpc-timeout", b"1S"), (b"grpc-timeout", b"2S")],
    *[[SAMPLED, (b"tracestate", state)] for state in (b"a=b," * 1_700, b"\xff=,,;=\xfe")],
    [SAMPLED, (b"traceparent", b"x" * 7_000)],
    [(b"x-envoy-retry-on", b"5xx"), (b"x-envoy-max-retries", b"99999")],
]


def request(method: str, path: str, media_type: str, malformed: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Returns the headers of a valid request, with malformed ones that replace or accompany the valid ones."""
    good = [
        (b":method", method.encode()),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", b"shop"),
        (b"content-type", media_type.encode()),
        (b"te", b"trailers"),
    ]
    names = {name for name, _ in malformed}
    return [pair for pair in good if pair[0] not in names] + malformed


async def rest(shop: Any, malformed: list[tuple[bytes, bytes]]) -> str:
    """Sends a read and a login over REST; returns what went wrong."""
    path = "/v1/orders/1" if "transcoder" in shop.system.topology.entry.values() else "/v1/products/1"
    read = await shop.exchange(request("GET", path, "application/json", malformed), b"")
    login = await shop.exchange(request("POST", "/v1/sessions", "application/json", malformed), b"{}")
    return "" if read.status < 500 and login.status < 500 else f"{read.status} {login.status} {read.body!r}"


async def graphql(shop: Any, malformed: list[tuple[bytes, bytes]]) -> str:
    """Sends a query over GraphQL; returns what went wrong."""
    answer = await shop.exchange(request("POST", "/graphql", "application/json", malformed), QUERY)
    broken = answer.status >= 500 or b"INTERNAL" in answer.body or b"UNAVAILABLE" in answer.body
    return f"{answer.status} {answer.body!r}" if broken else ""


async def rpc(shop: Any, malformed: list[tuple[bytes, bytes]]) -> str:
    """Makes a call over gRPC; returns what went wrong."""
    answer = await shop.exchange(request("POST", GET_PRODUCT, "application/grpc", malformed), CALL)
    broken = {grpc.StatusCode[name].value[0] for name in ("UNKNOWN", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")}
    return f"{answer.headers}" if answer.status >= 500 or answer.grpc_status in broken else ""


async def another(act: Callable[[], Awaitable[str]], stop: asyncio.Event) -> Counter[str]:
    """Calls continuously over separate connections until `stop` is set; counts the results."""
    seen: Counter[str] = Counter()
    while not stop.is_set():
        seen[await act()] += 1
        await asyncio.sleep(0.002)
    return seen


async def while_another_calls(
    shop: Any, send: Callable[..., Awaitable[str]], act: Callable[[], Awaitable[str]]
) -> None:
    """Sends all malformed headers while another client calls, and checks both clients' results."""
    stop = asyncio.Event()
    other = asyncio.create_task(another(act, stop))
    wrong = {}
    for malformed in MALFORMED:
        fault = await send(shop, malformed)
        if fault:
            wrong[str(malformed)[:80]] = fault[:300]
        await asyncio.sleep(0.02)
    stop.set()
    seen = await other
    assert set(seen) == {"ok"}, seen
    assert seen["ok"] > len(MALFORMED) / 2
    assert wrong == {}


async def test_over_rest(shop: Any) -> None:
    path = "/v1/orders/1" if "transcoder" in shop.system.topology.entry.values() else "/v1/products/1"
    async with shop.client(http2=True, headers={"authorization": shop.token("partner", 1)}) as client:

        async def act() -> str:
            answer = await client.get(path)
            return "ok" if answer.status_code == 200 else answer.text

        await while_another_calls(shop, rest, act)


@pytest.mark.parametrize("shop", ["hybrid-transcoded", "hybrid@kong"], indirect=True)
async def test_over_graphql(shop: Any) -> None:
    async with shop.client(http2=True) as client:

        async def act() -> str:
            answer = await client.post("/graphql", content=QUERY, headers={"content-type": "application/json"})
            return "ok" if "errors" not in answer.json() else answer.text

        await while_another_calls(shop, graphql, act)


@pytest.mark.parametrize("shop", ["hybrid-transcoded", "grpc@kong"], indirect=True)
async def test_over_grpc(shop: Any) -> None:
    async with grpc.aio.insecure_channel(shop.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        stub = product_pb2_grpc.ProductServiceStub(channel)

        async def act() -> str:
            try:
                await stub.GetProduct(product_pb2.GetProductRequest(id=1), timeout=4)
            except grpc.aio.AioRpcError as error:
                return f"{error.code()} {error.details()}"
            return "ok"

        await while_another_calls(shop, rpc, act)


@pytest.mark.parametrize("shop", ["hybrid-transcoded", "grpc@kong"], indirect=True)
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (b"grpc-timeout", b"zzz", "grpc-timeout is not valid; valid: 1 to 8 digits and a unit of H, M, S, m, u, n"),
        (b"grpc-encoding", b"br", "grpc-encoding is unknown; valid: identity, deflate, gzip"),
    ],
)
async def test_refused_header_is_named(shop: Any, name: bytes, value: bytes, said: str) -> None:
    answer = await shop.exchange(request("POST", GET_PRODUCT, "application/grpc", [(name, value)]), CALL)
    assert answer.grpc_status == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert answer.headers["grpc-message"] == said
    if not shop.system.topology.transcodes:
        return
    path, token = "/v1/orders/1", shop.token("partner", 1).encode()
    headers = request("GET", path, "application/json", [(name, value), (b"authorization", token)])
    problem = json.loads((await shop.exchange(headers, b"")).body)
    assert (problem["status"], problem["code"], problem["detail"]) == (400, "INVALID_ARGUMENT", said)


@pytest.mark.parametrize("shop", ["hybrid-transcoded", "grpc@kong"], indirect=True)
async def test_deadline_of_a_client_reaches_the_service(shop: Any) -> None:
    async def get_product(allowed: bytes) -> Any:
        headers = request("POST", GET_PRODUCT, "application/grpc", [(b"grpc-timeout", allowed)])
        return (await shop.exchange(headers, CALL)).grpc_status

    # The table is locked because gRPC rounds a deadline up to whole milliseconds, in which it could be read.
    with shop.locked("shop_product.product"):
        for short in (b"1n", b"300m"):
            async with asyncio.timeout(4):
                assert await get_product(short) == grpc.StatusCode.DEADLINE_EXCEEDED.value[0], short
    for long in (b"3S", b"99999999H"):
        assert await get_product(long) == grpc.StatusCode.OK.value[0], long


@pytest.mark.parametrize("shop", ["hybrid-transcoded", "grpc@kong"], indirect=True)
@pytest.mark.parametrize("name", [b"x-envoy-upstream-rq-timeout-ms", b"x-envoy-expected-rq-timeout-ms"])
async def test_no_client_steers_the_edge(shop: Any, name: bytes) -> None:
    with shop.locked("shop_product.product"):
        headers = request("POST", GET_PRODUCT, "application/grpc", [(name, b"100")])
        calling = asyncio.create_task(shop.exchange(headers, CALL))
        done, _ = await asyncio.wait([calling], timeout=1)
    assert not done, await calling
    assert (await calling).grpc_status == 0
