"""Behaviour that all resources share: routing, deadlines, problems, HEAD."""

from __future__ import annotations

import httpx
import pytest

from conforming import says
from gateway_shop import Headers
from memory_shop import MemoryShop
from shop.errors import DeadlineExceeded, ShopError, Unavailable
from shop.platform.deadline import remaining
from shop.platform.error_codes import ERROR_TABLE


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/orders/1/lines", "/v1/products/", "/V1/products", "/v1/%00"])
async def test_an_unknown_path_is_a_problem(api: httpx.AsyncClient, path: str) -> None:
    answer = await api.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/orders/1", "GET, HEAD, PATCH"),
        ("DELETE", "/v1/products", "GET, HEAD, POST"),
        ("GET", "/v1/orders/1:cancel", "POST"),
        ("GET", "/v1/sessions", "POST"),
        ("OPTIONS", "/v1/users/1", "DELETE, GET, HEAD, PATCH"),
        ("TRACE", "/docs", "GET, HEAD"),
    ],
)
async def test_a_refused_method_names_the_allowed_ones(
    api: httpx.AsyncClient, method: str, path: str, allow: str
) -> None:
    answer = await api.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)
    assert answer.json()["detail"] == f"{method} is not possible here; {allow} are"


async def test_head_gives_the_headers_of_get(api: httpx.AsyncClient) -> None:
    head = await api.head("/v1/products/3")
    get = await api.get("/v1/products/3")
    assert (head.status_code, head.content) == (200, b"")
    for answer in (head, get):
        answer.headers.pop("date", None)  # a server adds it to each answer
    assert head.headers == get.headers


async def test_a_problem_names_kind_and_place(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/products/999")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == {
        "type": "https://hopwise.invalid/problems/not-found",
        "title": "Not found",
        "status": 404,
        "detail": "there is no product 999",
        "instance": "/v1/products/999",
        "code": "NOT_FOUND",
        "field": "id",
    }


@pytest.mark.parametrize("error", [Unavailable("product does not answer; try again"), DeadlineExceeded("too late")])
async def test_a_part_that_fails_fails_the_whole_answer(
    api: httpx.AsyncClient, shop: MemoryShop, partner: Headers, error: ShopError
) -> None:
    shop.record.fail(error, "batch_get_payments_by_order")
    answer = await api.get("/v1/orders/3", params={"include": "payment"}, headers=partner)
    assert answer.status_code == ERROR_TABLE[error.code].http
    assert says(answer.json()["detail"], error.message)


async def test_an_unavailable_part_says_when_to_try_again(api: httpx.AsyncClient, shop: MemoryShop) -> None:
    shop.record.fail(Unavailable("product does not answer; try again"))
    assert (await api.get("/v1/products/1")).headers["retry-after"] == "1"


@pytest.mark.parametrize(("header", "seconds"), [(None, 5.0), ("1500", 1.5), ("999999", 30.0)])
async def test_the_edge_says_how_much_time_there_is(
    api: httpx.AsyncClient, shop: MemoryShop, header: str | None, seconds: float
) -> None:
    left: list[float | None] = []

    async def look(method: str) -> None:
        left.append(remaining())

    shop.record.on_call = look
    await api.get("/v1/products/1", headers={"x-envoy-expected-rq-timeout-ms": header} if header else {})
    # This is a little less than the caller's time, so that the answer still reaches the caller.
    assert 0.5 * seconds < left[0] < seconds
