"""W3C trace context: read and written like OpenTelemetry's propagator."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from recording.lean.recorder import RecordedSpan, Recorder
from shop.platform.telemetry.recorder import CLIENT
from shop.platform.telemetry.trace_context import (
    PROPAGATOR,
    UNTRACED_CALLER,
    caller_of,
    current_context,
    sampled_caller,
    trace_headers,
)

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = [
    *(f"00-{TRACE_ID}-{SPAN_ID}-{end}" for end in ("01", "00", "03", "01-more", "01\n")),
    *(f"01-{TRACE_ID}-{SPAN_ID}-01-more", f"ff-{TRACE_ID}-{SPAN_ID}-01", f" 00-{TRACE_ID}-{SPAN_ID}-01\t"),
    *(f"00-{TRACE_ID.upper()}-{SPAN_ID}-01", f"00-{'0' * 32}-{SPAN_ID}-01", f"00-{TRACE_ID}-{'0' * 16}-01"),
    *("00-0-0-01", "nonsense", ""),
]


def by_the_propagator(carrier: dict[str, str]) -> SpanContext:
    return trace.get_current_span(PROPAGATOR.extract(carrier)).get_span_context()


def check_sampled(header: str, state: str = "") -> None:
    read, caller = caller_of(header, state), sampled_caller(header, state)
    if not read.trace_flags.sampled:
        assert caller is None
        return
    fields = ("trace_id", "span_id", "trace_flags", "trace_state", "is_remote")
    assert [getattr(caller, name) for name in fields] == [getattr(read, name) for name in fields]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("state", ["", "vendor=x", "a=1,b=2", "no state", "a=" + "x" * 9_000], ids=range(5))
def test_headers_are_read_as_the_propagator_reads_them(header: str, state: str) -> None:
    carrier = {"traceparent": header} | ({"tracestate": state} if state else {})
    assert caller_of(header, state) == by_the_propagator(carrier)
    check_sampled(header, state)


@given(st.one_of(st.text(), st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", fullmatch=True)))
def test_any_text_is_read_as_the_propagator_reads_it(header: str) -> None:
    assert caller_of(header) == by_the_propagator({"traceparent": header})
    check_sampled(header)


@pytest.mark.parametrize("state", [TraceState(), TraceState([("vendor", "x")])], ids=["no state", "state"])
@pytest.mark.parametrize("flags", [1, 3])
def test_headers_are_written_as_the_propagator_writes_them(state: TraceState, flags: int) -> None:
    caller = SpanContext(5, 7, is_remote=True, trace_flags=TraceFlags(flags), trace_state=state)
    span = RecordedSpan(Recorder(), "GET", CLIENT, caller)
    expected: dict[str, str] = {}
    PROPAGATOR.inject(expected, trace.set_span_in_context(span))
    assert trace_headers(span) == expected
    assert caller_of(expected["traceparent"], expected.get("tracestate", "")).span_id == span.span_id


def test_an_untraced_request_passes_its_context_on() -> None:
    assert trace_headers(None) == {}
    with trace.use_span(NonRecordingSpan(SpanContext(5, 7, is_remote=True))):
        assert trace_headers(None) == {"traceparent": f"00-{5:032x}-{7:016x}-00"}


@pytest.mark.parametrize("tracestate", ["", "vendor=x"])
async def test_the_context_of_a_call_that_is_not_traced_is_passed_on_and_logged(tracestate: str) -> None:
    async def call(traceparent: str) -> tuple[dict[str, str], SpanContext]:
        UNTRACED_CALLER.set((traceparent, tracestate))
        return trace_headers(None), current_context()

    untraced = f"00-{5:032x}-{7:016x}-00"
    headers, context = await asyncio.create_task(call(untraced))
    assert headers == {"traceparent": untraced} | ({"tracestate": tracestate} if tracestate else {})
    assert (context.trace_id, context.span_id) == (5, 7)
    headers, context = await asyncio.create_task(call("00-" + "x" * 49 + "-00"))
    assert headers == {}
    assert not context.is_valid
