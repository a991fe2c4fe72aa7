"""Query strings may contain personal data, so no span of any component records one."""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

import httpx
import pytest

from mesh.description.topology import Protocol

MARK = "marker7f3a"


async def spans(shop: Any, trace_id: str, least: int) -> list[dict[str, Any]]:
    """Returns the spans of a trace in Jaeger, once the expected number is there."""
    url = f"{shop.system.ports.url('jaeger-query-http')}/api/v3/traces/{trace_id}"
    read: list[dict[str, Any]] = []
    async with asyncio.timeout(20), httpx.AsyncClient(trust_env=False) as client:
        while len(read) < least:
            await asyncio.sleep(0.2)
            answer = await client.get(url)
            if answer.status_code == 200:
                resources = answer.json()["result"]["resourceSpans"]
                read = [span for one in resources for scope in one["scopeSpans"] for span in scope["spans"]]
    return read


@pytest.mark.parametrize("shop", ["rest", "hybrid-transcoded", "rest@kong", "connect"], indirect=True)
async def test_no_span_holds_the_query_of_a_request(shop: Any) -> None:
    transcodes = "transcoder" in shop.system.topology.entry.values()
    asked = [("/v1/order-lines", {"limit": "5", "after_line_id": "0", "mark": f"{MARK}@example.com"})]
    if Protocol.CONNECT in shop.system.topology.exposed.values():
        read = {"connect": "v1", "encoding": "json", "message": json.dumps({"category": MARK})}
        asked = [("/shop.product.v1.ProductService/ListProducts", read)]
    elif transcodes:
        document = f'query {{ products(first: 1) {{ edges {{ node {{ id }} }} }} }} # "{MARK}"'
        asked.append(("/graphql", {"query": document, "operationName": ""}))
    else:
        asked.append(("/v1/products", {"category": MARK}))
        asked.append(("/v1/orders", {"ids": "1,2"}))
    token = {"authorization": shop.token("partner", 1)}
    async with shop.client(headers=token) as client:
        for path, query in asked:
            trace_id = secrets.token_hex(16)
            sampled = {"traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01"}
            answer = await client.get(path, params=query, headers=sampled)
            refused = path == "/v1/order-lines"
            assert answer.status_code == (400 if refused else 200), answer.text
            # If the edge refuses the request, only the edge has a span; else its upstream call and the component, too.
            seen = await spans(shop, trace_id, 1 if refused and transcodes else 3)
            assert MARK not in json.dumps(seen)
            edge = next(span for span in seen if span["kind"] == 2 and span["name"] in ("ingress", "kong"))
            attributes = {a["key"]: a["value"].get("stringValue") for a in edge["attributes"]}
            assert attributes["http.url"] == f"http://{shop.address}{path}"
