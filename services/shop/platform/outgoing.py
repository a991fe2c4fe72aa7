"""The steps that every call to another component goes through, over every protocol: one sequence, `OutgoingCall`.

- CLIENT span, if the current request is traced. This span does not become the current span, as it has no children here.
- Two moments for observers of the event loop: the call goes out, and its answer has been read.
- Headers: the trace context of the span, or of a caller that does not sample, and the remaining time.
- The call, which the channel of its protocol makes inside the `with` block.
- Errors: the span records what ended the call.
- Metrics: the time that the call took, and how it ended.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from opentelemetry.trace import Span, StatusCode

from shop.platform.deadline import DEADLINE_HEADER
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.metering import note_since
from shop.platform.telemetry.meters import Meters, Timing
from shop.platform.telemetry.recorder import CLIENT, Attributes, SharedAttributes
from shop.platform.telemetry.trace_context import trace_headers
from shop.platform.telemetry.tracing import begin


class OutgoingCall(ABC):
    """A call to another component, made inside a `with` block.

    Args:
        name: Low-cardinality name of its span.
        attributes: Attributes of the span; never personal or payment data.
    """

    __slots__ = ("_began", "_runtime", "span")

    def __init__(
        self, runtime: Runtime, name: str, attributes: Attributes = None, shared: SharedAttributes = ()
    ) -> None:
        self._runtime = runtime
        self.span: Span | None = begin(name, CLIENT, attributes, shared)

    def __enter__(self) -> Self:
        if self._runtime.meters is not None:
            self._began = time.perf_counter()
        self._runtime.spans.note_moment(None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if self.span is not None:
            self.end_span(self.span, error)
            self.span.end()
        meters = self._runtime.meters
        if meters is not None:
            timing, values = self.measure(meters, error)
            note_since(timing, values, self._began)

    def headers(self, limit: float | None = None) -> dict[str, str]:
        """Returns the headers with the call's trace context, and with the time that the caller waits, in seconds."""
        context = trace_headers(self.span)
        return context if limit is None else {DEADLINE_HEADER: str(max(1, int(limit * 1000))), **context}

    def read(self) -> None:
        """Records that the answer has been read."""
        if self.span is not None:
            self._runtime.spans.note_moment(self.span)

    def end_span(self, span: Span, error: BaseException | None) -> None:
        """Records on the span what ended the call early: only the class, as messages can contain personal data."""
        if error is not None:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(StatusCode.ERROR)

    @abstractmethod
    def measure(self, meters: Meters, error: BaseException | None) -> tuple[Timing, tuple[str, ...]]:
        """Returns the histogram for the call, and the values of its attributes."""
