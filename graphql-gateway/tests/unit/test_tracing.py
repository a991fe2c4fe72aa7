"""The SERVER span, and what is passed on to those that are called."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from recorded_spans import ReadSpan, spans_of
from shop.instrument.lean.spans import EndedSpan, RecordedSpan, Recorder
from shop.platform.telemetry.tracing import traced_by

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SAMPLED = f"00-{TRACE_ID}-b7ad6b7169203331-01"
UNSAMPLED = f"00-{TRACE_ID}-b7ad6b7169203331-00"
QUERY = {"query": "query titles { products { edges { node { title } } } }"}


class Watched(Recorder):
    """Notes which threads spans start and end on; there is no lock for several."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def start(self, *args: Any, **kwargs: Any) -> RecordedSpan:
        self.threads.add(threading.get_ident())
        return super().start(*args, **kwargs)

    def keep(self, ended: EndedSpan) -> None:
        self.threads.add(threading.get_ident())
        super().keep(ended)


@pytest.fixture
def spans() -> Iterator[Recorder]:
    with traced_by(Recorder()) as recorder:
        yield recorder


def by_name(recorder: Recorder) -> dict[str, ReadSpan]:
    return {span.name: span for span in spans_of(recorder)}


async def test_a_sampled_request_leaves_a_server_span(gateway: Any, spans: Recorder) -> None:
    await gateway.post(QUERY, traceparent=SAMPLED)

    found = by_name(spans)
    assert set(found) == {"POST /graphql", "graphql.parse", "graphql.validate", "graphql.execute"}
    server = found["POST /graphql"]
    assert server.kind is SpanKind.SERVER
    assert f"{server.context.trace_id:032x}" == TRACE_ID
    assert f"{server.parent.span_id:016x}" == "b7ad6b7169203331"
    assert dict(server.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "http.route": "/graphql",
        "url.path": "/graphql",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "graphql.operation.type": "query",
        "graphql.operation.name": "titles",
    }
    assert found["graphql.execute"].parent.span_id == server.context.span_id


@pytest.mark.ours
@pytest.mark.parametrize("query", [QUERY["query"], "{ nothing }", "{"])
async def test_spans_are_recorded_by_one_thread(gateway: Any, query: str) -> None:
    with traced_by(Watched()) as recorder:
        await gateway.post({"query": query}, traceparent=SAMPLED)

    assert "graphql.parse" in by_name(recorder)
    assert recorder.threads == {threading.get_ident()}


async def test_a_document_that_is_ready_is_not_parsed_again(gateway: Any, spans: Recorder) -> None:
    await gateway.post(QUERY)
    await gateway.post(QUERY, traceparent=SAMPLED)

    assert set(by_name(spans)) == {"POST /graphql", "graphql.execute"}


@pytest.mark.parametrize("headers", [{}, {"traceparent": UNSAMPLED}, {"traceparent": "garbage"}], ids=str)
async def test_other_requests_leave_none(gateway: Any, spans: Recorder, headers: dict[str, str]) -> None:
    await gateway.post(QUERY, **headers)
    await gateway.http.get("/healthz", headers={"traceparent": SAMPLED})

    assert not spans.waiting


@pytest.mark.parametrize(("header", "sampled"), [(SAMPLED, True), (UNSAMPLED, False)], ids=["sampled", "unsampled"])
async def test_the_callers_trace_goes_on(gateway: Any, spans: Recorder, header: str, sampled: bool) -> None:
    seen = []

    async def look(_method: str) -> None:
        seen.append(trace.get_current_span().get_span_context())

    gateway.shop.record.on_call = look
    await gateway.post(QUERY, traceparent=header)

    assert f"{seen[0].trace_id:032x}" == TRACE_ID
    assert seen[0].trace_flags.sampled is sampled
    assert not trace.get_current_span().get_span_context().is_valid


async def test_personal_data_stays_out_of_spans(gateway: Any, spans: Recorder) -> None:
    query = 'mutation ($e: String!) { login(input: {email: $e, password: "hopwise-demo"}) { token } }'
    await gateway.post({"query": query, "variables": {"e": "user1@example.com"}}, traceparent=SAMPLED)
    await gateway.post({"query": query, "variables": {"e": "nobody@example.com"}}, traceparent=SAMPLED)

    everything = "".join(span.text for span in spans_of(spans))
    assert "example.com" not in everything
    assert "hopwise-demo" not in everything
