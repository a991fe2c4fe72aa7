"""The recorder behind OpenTelemetry's API: what its spans record, and what they leave out."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from recorded_spans import ReadSpan, sdk_tracing, spans_of, spans_of_sdk
from recording.lean.recorder import MAX_ATTRIBUTES, RecordedSpan, Recorder
from shop.platform.telemetry.recorder import shared_attributes
from shop.platform.telemetry.tracing import Ending, Spans, begin, child_span, note

REMOTE = SpanContext(2**127 + 5, 7, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
UNSAMPLED = SpanContext(2**127 + 5, 7, is_remote=True)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture(params=["lean", "sdk"])
def sampled(request: pytest.FixtureRequest) -> Iterator[Callable[[], list[ReadSpan]]]:
    """Inside a sampled request, in a process that records; yields the ended spans."""
    recorder, exporter = Recorder(), InMemorySpanExporter()
    tracing, ended = {
        "lean": (recorder, partial(spans_of, recorder)),
        "sdk": (sdk_tracing(exporter), partial(spans_of_sdk, exporter)),
    }[request.param]
    with Spans(tracing).below(REMOTE):
        yield ended


def only(recorder: Recorder) -> ReadSpan:
    [span] = spans_of(recorder)
    return span


def test_a_span_notes_where_it_belongs_and_when_it_was(recorder: Recorder) -> None:
    span = recorder.start("work", SpanKind.SERVER.value, REMOTE, {"a": 1})
    span.start = 10
    span.end(30)
    read = only(recorder)
    assert (read.name, read.kind, read.start_time, read.end_time) == ("work", SpanKind.SERVER, 10, 30)
    assert (read.context.trace_id, read.parent.span_id) == (REMOTE.trace_id, REMOTE.span_id)
    assert read.context.span_id == span.get_span_context().span_id != 0
    assert read.status.status_code is StatusCode.UNSET
    assert "flags: 768" in read.text, "the parent is in another process"


def test_children_say_that_their_parent_is_in_this_process(recorder: Recorder) -> None:
    outer = recorder.start("outer", 0, REMOTE)
    recorder.start("inner", 0, outer).end()
    outer.end()
    inner, outside = spans_of(recorder)
    assert inner.parent.span_id == outside.context.span_id
    assert "flags: 256" in inner.text


def test_the_first_end_counts(recorder: Recorder) -> None:
    span = recorder.start("work", 0, REMOTE)
    assert span.is_recording()
    span.end(30)
    assert not span.is_recording()
    span.set_attribute("late", True)
    span.set_status(StatusCode.ERROR)
    span.update_name("late")
    span.end(40)
    read = only(recorder)
    assert (read.name, read.end_time, read.attributes, read.status.status_code) == ("work", 30, {}, StatusCode.UNSET)


@pytest.mark.parametrize(
    ("set_to", "read"),
    [
        ([StatusCode.ERROR], (StatusCode.ERROR, "")),
        ([Status(StatusCode.ERROR, "why")], (StatusCode.ERROR, "why")),
        ([Status(StatusCode.ERROR, "why"), StatusCode.UNSET], (StatusCode.ERROR, "why")),
        ([StatusCode.OK, Status(StatusCode.ERROR, "why")], (StatusCode.OK, "")),
        ([Status(StatusCode.ERROR, "why"), StatusCode.OK], (StatusCode.OK, "")),
    ],
    ids=["error", "described", "unset changes nothing", "ok is final", "ok after an error"],
)
def test_status(recorder: Recorder, set_to: list[Status], read: tuple[StatusCode, str]) -> None:
    with recorder.start("work", 0, REMOTE) as span:
        for status in set_to:
            span.set_status(status)
    status = only(recorder).status
    assert (status.status_code, status.description) == read


def test_of_an_exception_only_the_class_is_kept(recorder: Recorder) -> None:
    with recorder.start("work", 0, REMOTE) as span:
        span.add_event("secret", {"secret": "secret"})
        span.record_exception(ValueError("secret"))
    read = only(recorder)
    assert read.attributes == {"error.type": "ValueError"}
    assert "secret" not in read.text


def test_attributes_are_copied_typed_and_bounded(recorder: Recorder) -> None:
    given = {"text": "a", "yes": True, "one": 1, "half": 0.5, "several": ["a", "b"]}
    span = recorder.start("work", 0, REMOTE, given)
    given["text"] = "changed"
    span.set_attributes({f"further.{number}": number for number in range(MAX_ATTRIBUTES)})
    span.set_attribute("one", 2)
    span.end()
    attributes = only(recorder).attributes
    assert len(attributes) == MAX_ATTRIBUTES
    kept = {name: attributes[name] for name in given}
    assert kept == {"text": "a", "yes": True, "one": 2, "half": 0.5, "several": ["a", "b"]}
    assert [type(kept[name]) for name in ("yes", "one")] == [bool, int]


@pytest.mark.parametrize("value", [2**63, "\ud800", object()], ids=["too large", "not a text", "not a value"])
def test_a_value_that_cannot_be_exported_leaves_the_others_alone(
    value: object, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    with recorder.start("work", 0, REMOTE) as span:
        span.set_attribute("odd", value)  # type: ignore[arg-type]
        span.set_attribute("good", 1)
    assert only(recorder).attributes == {"odd": None, "good": 1}
    assert "attribute odd of a span is left empty" in caplog.text


def test_tracestate_stays_with_the_trace(recorder: Recorder) -> None:
    state = TraceState([("vendor", "x")])
    remote = SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED), trace_state=state)
    with recorder.start("work", 0, remote) as span:
        assert span.get_span_context().trace_state == state
    assert 'trace_state: "vendor=x"' in only(recorder).text


def test_ids_are_distinct(recorder: Recorder) -> None:
    for _ in range(1_000):
        recorder.start("work", 0, REMOTE).end()
    assert len({span.context.span_id for span in spans_of(recorder)}) == 1_000


def test_spans_that_do_not_fit_are_lost_and_counted() -> None:
    recorder = Recorder(max_waiting=2)
    for number in range(5):
        RecordedSpan(recorder, f"work {number}", 0, REMOTE).end()
    assert [span.name for span in spans_of(recorder)] == ["work 0", "work 1"]
    assert (recorder.started, recorder.ended, recorder.lost) == (5, 5, 3)


def test_spans_that_wait_are_no_work_for_the_garbage_collector(recorder: Recorder) -> None:
    common = shared_attributes({"b": 2})
    RecordedSpan(recorder, "work", 0, REMOTE, {"a": 1}, common).end()
    recorder.note("work", 0, REMOTE, 10, common)
    gc.collect()
    assert not any(gc.is_tracked(ended) for ended in recorder.waiting)


def test_own_attributes_are_added_to_shared_ones(recorder: Recorder) -> None:
    common = shared_attributes({"a": 1, "b": "2"})
    RecordedSpan(recorder, "work", 0, REMOTE, {"c": 3}, common).end()
    RecordedSpan(recorder, "work", 0, REMOTE, {"c": [3, 4]}, common).end()
    recorder.note("work", 0, REMOTE, 10, common)
    own = {"a": 1, "b": "2"}
    assert [span.attributes for span in spans_of(recorder)] == [own | {"c": 3}, own | {"c": [3, 4]}, own]


def test_a_child_is_current_and_records_what_ended_it(sampled: Callable[[], list[ReadSpan]]) -> None:
    with contextlib.suppress(RuntimeError), child_span("outer") as outer:
        assert trace.get_current_span() is outer
        with Ending(begin("inner", SpanKind.CLIENT.value, {"a": 1})):
            pass
        raise RuntimeError("secret")
    inner, outside = sampled()
    assert (inner.kind, inner.attributes, inner.parent.span_id) == (SpanKind.CLIENT, {"a": 1}, outside.context.span_id)
    assert outside.attributes == {"error.type": "RuntimeError"}
    assert outside.status.status_code is StatusCode.ERROR
    assert "secret" not in outside.text


def test_a_span_that_is_only_noted_is_as_one_that_has_ended(sampled: Callable[[], list[ReadSpan]]) -> None:
    with contextlib.suppress(ValueError), Ending(begin("work", SpanKind.CLIENT.value, {"a": 1})):
        raise ValueError("secret")
    note("work", SpanKind.CLIENT.value, REMOTE, 10, shared_attributes({"a": 1}), ValueError("secret"))
    ended, noted = sampled()
    assert (noted.name, noted.kind, noted.parent, noted.start_time) == (ended.name, ended.kind, ended.parent, 10)
    assert (noted.attributes, noted.status) == (ended.attributes, ended.status)
    assert "secret" not in noted.text + ended.text


@pytest.mark.parametrize("context", [UNSAMPLED, None], ids=["unsampled", "no trace"])
def test_an_untraced_parent_has_no_child_spans(context: SpanContext | None) -> None:
    recorder = Recorder()
    with nullcontext() if context is None else Spans(recorder).below(context), child_span("work"):
        pass
    assert recorder.started == 0


@pytest.mark.parametrize("below", [Spans().below, lambda remote: trace.use_span(NonRecordingSpan(remote))])
def test_a_process_that_does_not_record_works_as_well(below: Callable[[SpanContext], Any]) -> None:
    with below(REMOTE), child_span("work") as span:
        assert not span.is_recording()
