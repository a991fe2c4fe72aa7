"""Time limits: a late answer is the callee's own error, and a request that never ends is cut off."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from typing import Any

import grpc
import pytest

from mesh.edge.limits import OPENINGS

from .conftest import Header, request

EDGE_S = 5.0
BULK = "/v1/order-lines"
CALLS = (
    ("/shop.product.v1.ProductService/GetProduct", b"\0\0\0\0\2\x08\1"),
    ("/shop.order.v1.OrderService/StreamOrderLines", b"\0\0\0\0\2\x10\x09"),
)
"""A call and a stream, each with its message."""


async def over_http(shop: Any, method: str, path: str, **options: Any) -> tuple[int, Any]:
    async with shop.client(headers={"authorization": shop.token("partner", 1)}) as client:
        answer = await client.request(method, path, **options)
        return answer.status_code, answer.json()


# The error comes from the service: from the statement or, on a busy machine, from the backstop for late requests.
LATE = "the deadline of the request "


@pytest.mark.parametrize("shop", ["hybrid-transcoded"], indirect=True)
async def test_late_answer_is_the_services_own_and_in_full_shape(shop: Any) -> None:
    query = {"query": "{ products(first: 1) { edges { node { id } } } }"}
    token = (b"authorization", shop.token("partner", 1).encode())
    calls = [
        shop.exchange(request("POST", path, "application/grpc", [token, *limit]), message)
        for path, message in CALLS
        for limit in ([], [(b"grpc-timeout", b"60S")])
    ]
    with shop.locked("shop_product.product", "shop_order.orders"):
        began = time.monotonic()
        (status, transcoded), (bulk_status, bulk), (_, graphql), *answers = await asyncio.gather(
            over_http(shop, "GET", "/v1/orders/1"),
            over_http(shop, "GET", BULK, params={"limit": 9}),
            over_http(shop, "POST", "/graphql", json=query),
            *calls,
        )
        took = time.monotonic() - began
    for code, body in ((status, transcoded), (bulk_status, bulk)):
        assert code == 504
        assert body["details"][0]["reason"] == "DEADLINE_EXCEEDED"
        assert body["message"].startswith(LATE)
    assert graphql["errors"][0]["extensions"]["code"] == "DEADLINE_EXCEEDED"
    for answer in answers:
        assert answer.grpc_status == grpc.StatusCode.DEADLINE_EXCEEDED.value[0], answer
        assert answer.headers["grpc-message"].startswith(LATE)
        assert b"DEADLINE_EXCEEDED" in base64.b64decode(answer.headers["grpc-status-details-bin"] + "==")
    assert took < 3 * EDGE_S


@pytest.mark.parametrize("shop", ["rest", "rest@kong"], indirect=True)
async def test_late_answer_over_rest_is_the_services_own(shop: Any) -> None:
    with shop.locked("shop_product.product", "shop_order.orders"):
        answers = await asyncio.gather(
            over_http(shop, "GET", "/v1/products/1"), over_http(shop, "GET", BULK, params={"page_size": 9})
        )
    for (status, problem), path in zip(answers, ("/v1/products/1", BULK), strict=True):
        assert status == 504
        assert problem.pop("detail").startswith(LATE)
        assert problem == {
            "type": "https://hopwise.invalid/problems/deadline-exceeded",
            "title": "Deadline exceeded",
            "status": 504,
            "instance": path,
            "code": "DEADLINE_EXCEEDED",
        }


def endless_request(path: str, media_type: str) -> list[Header]:
    return request("POST", path, media_type, [(b"content-length", b"1000")])


async def drip(shop: Any, path: str) -> bytes:
    """Sends a request over HTTP/1.1 whose body arrives a byte at a time and never ends; returns the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", shop.port)
    head = f"POST {path} HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    writer.write(head.encode())
    answer = asyncio.create_task(reader.read(65536))
    with contextlib.suppress(ConnectionError):
        while not answer.done():
            writer.write(b"{")
            await asyncio.wait([answer], timeout=0.2)
    writer.close()
    return await answer


async def test_body_that_never_ends_is_ended(shop: Any) -> None:
    transcodes = "transcoder" in shop.system.topology.entry.values()
    path = "/graphql" if transcodes else "/v1/sessions"
    method = "/shop.product.v1.ProductService/GetProduct"
    began = time.monotonic()
    async with asyncio.timeout(4 * EDGE_S):
        over_http1, over_http2, silent, call = await asyncio.gather(
            drip(shop, path),
            shop.exchange(endless_request(path, "application/json"), *[b"{"] * 100, pause_s=0.2),
            shop.exchange(endless_request(path, "application/json")),
            shop.exchange(endless_request(method, "application/grpc"), b"\0\0\0\3\xe3", *[b"\x08"] * 100, pause_s=0.2),
        )
    assert time.monotonic() - began < 3 * EDGE_S
    assert int(over_http1.split(b" ", 2)[1]) in (408, 504)
    for answer in (over_http2, silent):
        assert answer.status in (408, 504)
        assert b"DEADLINE_EXCEEDED" in answer.body
    if transcodes:
        assert call.grpc_status == grpc.StatusCode.DEADLINE_EXCEEDED.value[0], call
    assert json.loads(silent.body)


EVENTS = "/v1/users/{}/notifications/events"


@pytest.mark.parametrize("shop", ["rest", "rest@kong"], indirect=True)
async def test_a_token_that_opens_streams_without_end_is_refused_by_the_edge_and_no_other_is(shop: Any) -> None:
    eager, other = (shop.token("customer", number) for number in (77, 78))
    async with shop.client(http2=True) as client, contextlib.AsyncExitStack() as opened:

        async def watch(number: int, token: str) -> dict[str, Any]:
            """Opens a stream; returns the problem with which it is refused, or an empty one if it is open."""
            stream = client.stream("GET", EVENTS.format(number), headers={"authorization": token})
            answer = await opened.enter_async_context(stream)
            problem: dict[str, Any] = {} if answer.status_code == 200 else json.loads(await answer.aread())
            return problem

        by_edge: list[dict[str, Any]] = []
        for _ in range(8):
            problems = await asyncio.gather(*(watch(77, eager) for _ in range(OPENINGS)))
            by_edge = [problem for problem in problems if "send fewer" in problem.get("detail", "")]
            if by_edge:
                break
        assert {problem["code"] for problem in by_edge} == {"TOO_MANY_REQUESTS"}
        assert await watch(78, other) == {}
