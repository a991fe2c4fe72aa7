"""No headers that one client sends affect other clients, or break anything behind the edge."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import grpc
import pytest

from .conftest import Answer, Header, request

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


CODES = ("UNKNOWN", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
BROKEN = {grpc.StatusCode[name].value[0] for name in CODES}
READ, LOGIN = ("GET", "/v1/products/1", "application/json", b""), ("POST", "/v1/sessions", "application/json", b"{}")
TRANSCODED = ("GET", "/v1/orders/1", "application/json", b"")
GRAPHQL, RPC = ("POST", "/graphql", "application/json", QUERY), ("POST", GET_PRODUCT, "application/grpc", CALL)


def is_broken(answer: Answer) -> bool:
    """Whether something behind the edge has failed."""
    failed = any(code in answer.body for code in (b"INTERNAL", b"UNAVAILABLE"))
    return answer.status >= 500 or failed or answer.grpc_status in BROKEN


@pytest.mark.parametrize(
    ("shop", "kinds"),
    [
        *((shop, [READ, LOGIN]) for shop in ("rest", "rest@kong")),
        ("hybrid-transcoded", [TRANSCODED, LOGIN]),
        *((shop, [GRAPHQL]) for shop in ("hybrid-transcoded", "hybrid@kong")),
        *((shop, [RPC]) for shop in ("hybrid-transcoded", "grpc@kong")),
    ],
    indirect=["shop"],
    scope="session",
)
async def test_others_are_served_and_nothing_breaks(shop: Any, kinds: list[tuple[str, str, str, bytes]]) -> None:
    stop, token = asyncio.Event(), (b"authorization", shop.token("partner", 1).encode())

    async def send(kind: tuple[str, str, str, bytes], headers: list[Header]) -> Answer:
        *asked, body = kind
        answer: Answer = await shop.exchange(request(*asked, headers), body)
        return answer

    async def call_as_another() -> int:
        """Calls continuously over separate connections until the end; returns the number of calls."""
        calls = 0
        while not stop.is_set():
            answer = await send(kinds[0], [token])
            assert (answer.status, answer.grpc_status or 0, b'"errors"' in answer.body) == (200, 0, False), answer
            calls += 1
            await asyncio.sleep(0.002)
        return calls

    other = asyncio.create_task(call_as_another())
    wrong = {}
    for malformed in MALFORMED:
        for kind in kinds:
            if is_broken(answer := await send(kind, malformed)):
                wrong[str(malformed)[:80]] = str(answer)[:300]
        await asyncio.sleep(0.02)
    stop.set()
    assert await other > len(MALFORMED) / 2
    assert wrong == {}


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
