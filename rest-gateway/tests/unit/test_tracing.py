"""SERVER spans: one for each sampled request, none for the others."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from memory_shop import MemoryShop
from recorded_spans import ReadSpan, spans_of
from shop.instrument.lean.spans import Recorder
from shop.platform.telemetry.tracing import traced_by

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SAMPLED = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-00"}


@pytest.fixture
def spans() -> Iterator[Recorder]:
    with traced_by(Recorder()) as recorder:
        yield recorder


def only(recorder: Recorder) -> ReadSpan:
    [span] = spans_of(recorder)
    return span


async def test_a_sampled_request_leaves_one_span(api: httpx.AsyncClient, spans: Recorder) -> None:
    await api.get("/v1/products/3?include=reviews", headers=SAMPLED)

    span = only(spans)
    assert span.name == "GET /v1/products/{product_id}"
    assert span.kind is SpanKind.SERVER
    assert span.context is not None
    assert f"{span.context.trace_id:032x}" == TRACE_ID
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert span.attributes == {
        "http.request.method": "GET",
        "http.route": "/v1/products/{product_id}",
        "http.response.status_code": 200,
        "url.path": "/v1/products/3",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
    }


async def test_what_the_services_do_is_below_it(api: httpx.AsyncClient, shop: MemoryShop, spans: Recorder) -> None:
    seen: list[int] = []

    async def look(method: str) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    shop.record.on_call = look
    await api.get("/v1/products?ids=1&include=reviews", headers=SAMPLED)

    context = only(spans).context
    assert context is not None
    assert seen == [context.span_id] * 2, "also in the call that runs as a task of its own"


@pytest.mark.parametrize("headers", [UNSAMPLED, {}, {"traceparent": "nonsense"}, {"traceparent": "00-0-0-01"}])
async def test_other_requests_leave_none(api: httpx.AsyncClient, spans: Recorder, headers: dict[str, str]) -> None:
    assert (await api.get("/v1/products/3", headers=headers)).status_code == 200
    assert not spans.waiting


async def test_health_checks_leave_none(api: httpx.AsyncClient, spans: Recorder) -> None:
    await api.get("/healthz", headers=SAMPLED)

    assert not spans.waiting


async def test_a_failure_of_the_server_is_an_error(api: httpx.AsyncClient, shop: MemoryShop, spans: Recorder) -> None:
    async def fail(method: str) -> None:
        raise RuntimeError("secret")

    shop.record.on_call = fail
    await api.get("/v1/products/3", headers=SAMPLED)

    span = only(spans)
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["error.type"] == "500"
    assert "secret" not in span.text


async def test_a_clients_mistake_is_no_error_of_the_server(api: httpx.AsyncClient, spans: Recorder) -> None:
    await api.get("/nowhere", headers=SAMPLED)

    span = only(spans)
    assert span.name == "GET"
    assert span.status.status_code is StatusCode.UNSET


async def test_credentials_are_never_in_a_span(api: httpx.AsyncClient, spans: Recorder) -> None:
    body = {"email": "user3@example.com", "password": "hopwise-demo"}
    await api.post("/v1/sessions", json=body, headers=SAMPLED)

    text = only(spans).text
    assert "user3" not in text
    assert "hopwise-demo" not in text
