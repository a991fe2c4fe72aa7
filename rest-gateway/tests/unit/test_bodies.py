"""Invalid bodies are refused clearly, and never break anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from conforming import says
from gateway_shop import Headers
from shop.platform.http.body import MAX_BYTES

JSON = {"content-type": "application/json"}
LOGIN = '{"email": "a@b", "password": "12345678"}'


@pytest.mark.parametrize(
    "body",
    [
        *(b"{", b"nonsense", b"\xff\xfe", b"1" * 60_000, b"NaN", b"null", b"[]", b'""', b'"\\ud800"'),
        *(b"[" * 50_000, b'{"a":' * 10_000, b"[" * 1_000 + b"]" * 1_000),
        *(b'{"email": "\xff"}', b'{"email": "\\ud800@b", "password": "12345678"}'),
        *(b'{"\\ud800": 1}', b'{"\\ud800": 1, "\\ud800": 2}'),
        *(f"{LOGIN} trailing".encode(), b'{"email": "a@b", "password": "12345678", "\\u0065mail": "c@d"}'),
        *(LOGIN.encode(coding) for coding in ("utf-16", "utf-16-be", "utf-32", "utf-8-sig")),
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_a_malformed_body_is_a_bad_request(api: httpx.AsyncClient, body: bytes) -> None:
    answer = await api.post("/v1/sessions", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_ARGUMENT")
    assert answer.json()["errors"]


async def test_a_member_that_is_given_twice_is_named(api: httpx.AsyncClient, partner: Headers) -> None:
    body = b'{"user_id": 3, "lines": [{"product_id": 1, "quantity": 1, "quantity": 2}], "payment_token": "tok_ok"}'
    answer = await api.post("/v1/orders", content=body, headers={**JSON, **partner, "idempotency-key": "twice"})
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["field"] == "quantity"
    assert says(error["message"], "quantity is given twice; give it once")


async def test_an_absent_body_is_a_bad_request(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/sessions", headers=JSON)
    assert (answer.status_code, answer.json()["detail"]) == (400, "a JSON body is needed")


@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/x-www-form-urlencoded", "json", "application/"]
)
async def test_a_body_must_be_json(api: httpx.AsyncClient, media_type: str | None) -> None:
    headers = {"content-type": media_type} if media_type else {}
    answer = await api.post("/v1/sessions", content=b"{}", headers=headers)
    assert answer.status_code == 415
    assert answer.json()["detail"] == "the body must be JSON: send the header Content-Type: application/json"


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/merge-patch+json"]
)
async def test_json_has_many_names(api: httpx.AsyncClient, media_type: str) -> None:
    body = b'{"email": "user3@example.com", "password": "hopwise-demo"}'
    answer = await api.post("/v1/sessions", content=body, headers={"content-type": media_type})
    assert answer.status_code == 201


async def test_a_compressed_body_is_refused(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/sessions", content=b"{}", headers={**JSON, "content-encoding": "gzip"})
    assert answer.status_code == 415


async def test_a_large_body_is_refused_by_its_length(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/sessions", content=b" " * (MAX_BYTES + 1), headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "the body is too large; at most 65536 bytes are valid"


@pytest.mark.ours
async def test_a_large_body_without_a_length_is_refused_while_it_comes(api: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 1024

    answer = await api.post("/v1/sessions", content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert sent <= MAX_BYTES // 1024 + 2


@pytest.mark.ours
async def test_a_body_that_does_not_come_runs_into_the_deadline(api: httpx.AsyncClient) -> None:
    async def stall() -> AsyncIterator[bytes]:
        yield b"{"
        # The limit of the whole request expires in the same turn of the loop.
        asyncio.get_running_loop().call_later(0.2, time.sleep, 0.3)
        await asyncio.sleep(30)

    headers = {**JSON, "x-envoy-expected-rq-timeout-ms": "400"}
    answer = await api.post("/v1/sessions", content=stall(), headers=headers)
    assert (answer.status_code, answer.headers["connection"]) == (408, "close")
    problem = answer.json()
    assert (problem["title"], problem["status"], problem["code"]) == ("Request timeout", 408, "DEADLINE_EXCEEDED")


async def test_an_unexpected_body_is_ignored(api: httpx.AsyncClient, partner: Headers) -> None:
    answer = await api.post("/v1/orders/4:cancel", content=b"whatever", headers=partner)
    assert answer.status_code == 200
