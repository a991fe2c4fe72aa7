"""Spans that only note values (ids, times, kind, attributes and status), behind OpenTelemetry's API.

A span becomes one flat row of plain values when it ends. The garbage collector does not track such rows, so spans that
wait for export cost requests nothing; `recording.lean.export` does the rest of the work later. No lock is needed: spans
start and end on the thread of the event loop.
"""

from __future__ import annotations

# The signatures are those of the API.
# ruff: noqa: ARG002
import time
from collections import deque
from collections.abc import Callable, Mapping
from random import getrandbits
from typing import Any, TypeAlias

from opentelemetry.trace import DEFAULT_TRACE_STATE, Span, SpanContext, Status, StatusCode, TraceFlags, TraceState

from shop.platform.telemetry.recorder import Attributes, Parent, SharedAttributes

# A gateway that answers 1,700 traced requests a second fills a recorder of this size in about 40 s.
MAX_WAITING = 131_072
MAX_ATTRIBUTES = 128

EndedSpan: TypeAlias = tuple[Any, ...]
"""An ended span, as these values:

- trace id, span id, parent's id, whether the parent is in another process, W3C tracestate;
- name, kind, start and end in ns since the epoch;
- code and description of the status;
- trace and span id of a linked span as one number (0 for no link), and the shared attributes;
- the names of the span's own attributes, then their values.

Kind and code are the numbers of OpenTelemetry's enums."""
FIELDS = 13
"""How many values of an `EndedSpan` come before the names of the span's own attributes."""


class Recorder:
    """Keeps ended spans until they are exported.

    Args:
        max_waiting: Maximum number of waiting spans; further spans are lost.

    Attributes:
        waiting: Ended spans, oldest first.
        wake: Called when a span ends while none are waiting.
        started: Number of started spans.
        ended: Number of ended spans.
        lost: Number of ended spans that were lost.
    """

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self.max_waiting = max_waiting
        self.waiting: deque[EndedSpan] = deque()
        self.wake: Callable[[], None] = lambda: None
        self.started = 0
        self.ended = 0
        self.lost = 0

    def start(
        self, name: str, kind: int, parent: Parent, attributes: Attributes = None, shared: SharedAttributes = ()
    ) -> RecordedSpan:
        return RecordedSpan(self, name, kind, parent, attributes, shared)

    def note(
        self,
        name: str,
        kind: int,
        parent: Parent,
        start: int,
        attributes: SharedAttributes = (),
        error: BaseException | None = None,
        link: SpanContext | None = None,
    ) -> None:
        # Making a span object would cost twice as much.
        self.started += 1
        above = parent if isinstance(parent, RecordedSpan) else _context(parent)
        state = above.trace_state
        ended = (
            above.trace_id,
            getrandbits(64) or 1,
            above.span_id,
            above.is_remote,
            "" if state is DEFAULT_TRACE_STATE else state.to_header(),
            name,
            kind,
            start,
            time.time_ns(),
            0 if error is None else StatusCode.ERROR.value,
            None,
            0 if link is None else link.trace_id << 64 | link.span_id,
            attributes,
        )
        self.keep(ended if error is None else (*ended, "error.type", type(error).__qualname__))

    def keep(self, ended: EndedSpan) -> None:
        """Keeps an ended span, if there is room."""
        self.ended += 1
        waiting = self.waiting
        if len(waiting) >= self.max_waiting:
            self.lost += 1
            return
        if not waiting:
            self.wake()
        waiting.append(ended)


class RecordedSpan(Span):
    """A span of a sampled trace."""

    __slots__ = (
        "_description",
        "_recorder",
        "_status",
        "attributes",
        "kind",
        "name",
        "parent_id",
        "parent_is_remote",
        "shared",
        "span_id",
        "start",
        "trace_flags",
        "trace_id",
        "trace_state",
    )

    is_remote = False

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        kind: int,
        parent: Parent,
        attributes: Attributes = None,
        shared: SharedAttributes = (),
    ) -> None:
        recorder.started += 1
        self._recorder: Recorder | None = recorder
        self.name = name
        self.kind = kind
        above = parent if isinstance(parent, RecordedSpan) else _context(parent)
        self.trace_id: int = above.trace_id
        self.parent_id: int = above.span_id
        self.parent_is_remote = above.is_remote
        self.trace_flags: TraceFlags = above.trace_flags
        self.trace_state: TraceState = above.trace_state
        self.span_id: int = getrandbits(64) or 1  # 0 is not a valid id
        self.shared = shared
        self.attributes: dict[str, Any] = dict(attributes) if attributes else {}
        self._status = 0
        self._description: str | None = None
        self.start = time.time_ns()

    def end(self, end_time: int | None = None) -> None:
        end_time = end_time or time.time_ns()
        recorder = self._recorder
        if recorder is None:
            return
        self._recorder = None
        state, attributes = self.trace_state, self.attributes
        recorder.keep(
            (
                self.trace_id,
                self.span_id,
                self.parent_id,
                self.parent_is_remote,
                "" if state is DEFAULT_TRACE_STATE else state.to_header(),
                self.name,
                self.kind,
                self.start,
                end_time,
                self._status,
                self._description,
                0,
                self.shared,
                *attributes,
                *attributes.values(),
            )
        )

    def get_span_context(self) -> SpanContext:
        return SpanContext(self.trace_id, self.span_id, False, self.trace_flags, self.trace_state)

    def is_recording(self) -> bool:
        return self._recorder is not None

    def set_attribute(self, key: str, value: Any) -> None:
        attributes = self.attributes
        if self._recorder is not None and (len(attributes) < MAX_ATTRIBUTES or key in attributes):
            attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def update_name(self, name: str) -> None:
        if self._recorder is not None:
            self.name = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        if isinstance(status, Status):
            description = status.description
            status = status.status_code
        # The API's rules: OK is final, UNSET changes nothing, and only an error has a description.
        if self._recorder is None or self._status == StatusCode.OK.value or status is StatusCode.UNSET:
            return
        self._status = status.value
        self._description = description if status is StatusCode.ERROR else None

    def record_exception(
        self, exception: BaseException, attributes: Any = None, timestamp: int | None = None, escaped: bool = False
    ) -> None:
        # Record only the class: messages and stacks of errors can contain personal data.
        self.set_attribute("error.type", type(exception).__qualname__)

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        """Does nothing: events are not recorded."""

    def add_link(self, context: SpanContext, attributes: Any = None) -> None:
        """Does nothing: links are not recorded."""


def _context(parent: Parent) -> SpanContext:
    return parent if isinstance(parent, SpanContext) else parent.get_span_context()
