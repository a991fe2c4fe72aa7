"""Any request that a client sends is answered quickly, and never with a server error.

The requests are generated from the schema: most are nearly valid, some are not even text.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzz.graphql import requests
from graphql_gateway.schema import build_schema
from shop.platform.graphql.schema import core_schema

SCHEMA = core_schema(build_schema())
MAX_CPU_S = 0.25
RESPONSE_JSON = "application/graphql-response+json"


@pytest.mark.ours
def test_random_requests_are_answered_quickly_and_never_with_a_server_error(gateway: Any) -> None:
    app, ran = gateway.http._transport.app, 0
    tokens = {"": None, **{kind: f"Bearer {gateway.token(kind)}".encode() for kind in ("customer", "partner")}}

    @settings(
        max_examples=int(os.environ.get("RANDOM_REQUESTS", "300")),
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(SCHEMA), st.sampled_from(sorted(tokens)))
    def is_answered(request: tuple[str, str, bytes], caller: str) -> None:
        nonlocal ran
        status, body, cpu = loop.run(_answer(app, *request, tokens[caller]))
        assert status < 500, body
        assert b'"INTERNAL"' not in body
        assert cpu <= MAX_CPU_S
        ran += b'"data":{' in body

    # Otherwise garbage collection would walk through all of pytest's objects during some request.
    gc.collect()
    gc.freeze()
    try:
        with asyncio.Runner() as loop:
            is_answered()
    finally:
        gc.unfreeze()
    print(f"{ran} requests with data")
    assert ran > 15, "too few of the requests are good enough to run"


async def _answer(app: Any, method: str, query: str, body: bytes, token: bytes | None) -> tuple[int, bytes, float]:
    headers = [(b"content-type", b"application/json"), (b"accept", RESPONSE_JSON.encode())]
    headers += [(b"authorization", token)] if token else []
    scope = {"type": "http", "path": "/graphql", "method": method, "query_string": query.encode(), "headers": headers}
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    # Documents are prepared in another thread.
    began = time.process_time()
    await app(scope, receive, send)
    took = time.process_time() - began
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]), took
