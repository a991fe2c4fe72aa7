"""The steps that every request goes through, over every protocol: one sequence, `Incoming.answer`.

A server presents each request as a `Request`: how to look up a header, the name of its span, its work, and how to
answer an error. The sequence is the same for all requests:

- Metrics: the clock starts.
- SERVER span, if the caller samples. Otherwise the caller's trace context is kept for calls that the request makes.
- A moment for observers of the event loop (`Spans.note_moment`): the request has arrived.
- Deadline: work beyond the caller's time is cancelled.
- Admission, for requests from outside only.
- Steps that the runtime adds before each request's work (`Runtime.before_work`).
- Work, which asks the authenticator to admit the caller as soon as the method has been found.
- Errors: an unknown cause goes to the log, and not to the client.
- The span ends, which is another such moment, and the metrics are recorded.

The answer to a request may be long-lived. Its work then lifts the deadline (`shop.platform.deadline.lift`), and its
span and its time end with the answer. `Incoming.follow` is for answers whose parts the server writes as they come.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, aclosing
from typing import Generic, TypeAlias, TypeVar

from opentelemetry import context as otel_context
from opentelemetry.trace import Span, StatusCode

from shop.errors import Internal, ShopError
from shop.platform.access.rules import Authenticator
from shop.platform.admission import PRIORITY
from shop.platform.config import EDGE_MARK
from shop.platform.deadline import DEADLINE_HEADER, CallerLimit, caller_timeout_s
from shop.platform.error_codes import SERVER_FAULTS
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.telemetry.metering import MeasuredRequest, begin_request
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.recorder import SERVER, Attributes, SharedAttributes
from shop.platform.telemetry.trace_context import UNTRACED_CALLER, sampled_caller

log = logging.getLogger(__name__)

T = TypeVar("T")
Around: TypeAlias = Callable[[Mapping[str, str]], AbstractContextManager[None]]
"""Makes the context in which a call's work runs, from the call's headers."""


class Request(ABC, Generic[T]):
    """A request as the server of its protocol presents it.

    Attributes:
        patience_s: How long a caller waits if it does not say how long, in seconds; None for the longest time allowed.
        is_answered: Whether an answer has begun, so that it is too late to answer with an error.
    """

    __slots__ = ()

    patience_s: float | None = None
    is_answered = False

    @abstractmethod
    def header(self, name: str) -> str | None:
        """Returns the value of a header, named in lower case; None if it is absent."""

    @abstractmethod
    def describe_span(self) -> tuple[str, Attributes, SharedAttributes]:
        """Returns the name and the attributes of the request's SERVER span."""

    @abstractmethod
    async def work(self) -> T:
        """Admits the caller, and does the work of the request; raises a `ShopError` if it is refused, or fails."""

    @abstractmethod
    async def refuse(self, error: ShopError) -> T:
        """Returns the answer for an error."""

    def end_span(self, span: Span, error: BaseException | None) -> None:
        """Records on the request's span how the request ended; `error` is a ShopError, an interruption, or None."""
        if isinstance(error, ShopError):
            note_failure(span, error)

    @abstractmethod
    def measure(self, meters: Meters, asked: MeasuredRequest, error: BaseException | None) -> None:
        """Records the request's metrics; the arguments are as for `end_span`."""

    def waits(self) -> float | None:
        """Returns how long the caller waits, in seconds; None if it does not say."""
        allowed = self.header(DEADLINE_HEADER)
        return self.patience_s if allowed is None else caller_timeout_s(allowed)


def failure_of(error: Exception) -> ShopError:
    """Returns the error for the client; an unknown cause goes only to the log."""
    if isinstance(error, ShopError):
        if error.__cause__ is not None and error.code in SERVER_FAULTS:
            log.warning("%s: %s", error.code.value, error.message, exc_info=error)
        return error
    log.error("unexpected error", exc_info=error)
    return Internal("internal error")


def note_failure(span: Span, error: ShopError) -> None:
    """Records on a request's span the error with which the request is answered."""
    span.set_attribute("error.type", error.code.value)
    if error.code in SERVER_FAULTS:
        span.set_status(StatusCode.ERROR, error.message)


class _Passage:
    """A request on its way through the sequence, from the first to the last step."""

    __slots__ = ("_asked", "_request", "_runtime", "_span", "_token", "ended")

    def __init__(self, runtime: Runtime, request: Request[T]) -> None:
        self._runtime = runtime
        self._request = request
        self._span: Span | None = None
        self.ended: BaseException | None = None
        context = request.header("traceparent")
        self._asked = None if runtime.meters is None else begin_request(context)
        if context is not None:
            self._trace(context)
        runtime.spans.note_moment(self._span)

    def _trace(self, context: str) -> None:
        request = self._request
        state = request.header("tracestate") or ""
        caller = sampled_caller(context, state)
        if caller is not None:
            name, attributes, shared = request.describe_span()
            self._span = self._runtime.spans.start(name, SERVER, caller, attributes, shared)
        if self._span is None:
            UNTRACED_CALLER.set((context, state))
        else:
            self._token = self._runtime.spans.enter(self._span)

    def end(self) -> None:
        span, runtime, asked = self._span, self._runtime, self._asked
        if span is not None:
            self._request.end_span(span, self.ended)
            span.end()
        runtime.spans.note_moment(None)
        if asked is not None and runtime.meters is not None:
            self._request.measure(runtime.meters, asked, self.ended)

    def leave(self) -> None:
        """Stops the request's span from being the current one; unnecessary for a request in a separate task."""
        if self._span is not None:
            otel_context.detach(self._token)


class Incoming:
    """Answers requests."""

    def __init__(self, authenticator: Authenticator, runtime: Runtime = BARE) -> None:
        self.authenticator = authenticator
        self.runtime = runtime

    async def answer(self, request: Request[T]) -> T:
        passage = _Passage(self.runtime, request)
        try:
            async with CallerLimit(request.waits()):
                await self._let_in(request)
                return await request.work()
        except Exception as error:
            if request.is_answered:
                passage.ended = error
                raise
            passage.ended = failure = failure_of(error)
            return await request.refuse(failure)
        except BaseException as error:
            passage.ended = error
            raise
        finally:
            passage.end()
            passage.leave()

    async def follow(self, request: Request[AsyncGenerator[T]]) -> AsyncGenerator[T]:
        """Opens a long-lived answer, and yields its parts; call it in a task that serves nothing else."""
        passage = _Passage(self.runtime, request)
        try:
            try:
                async with CallerLimit(request.waits()):
                    await self._let_in(request)
                    parts = await request.work()
            except Exception as error:
                passage.ended = failure = failure_of(error)
                parts = await request.refuse(failure)
            async with aclosing(parts):
                async for part in parts:
                    yield part
        except BaseException as error:
            passage.ended = error
            raise
        finally:
            passage.end()

    def admit(self, header: Callable[[str], str | None]) -> None:
        """Refuses a request from outside, which the edge has marked, as `Unavailable` if there are too many."""
        limit = self.runtime.admission
        if limit is not None and header(EDGE_MARK) is not None:
            limit.admit(header(PRIORITY))

    async def _let_in(self, request: Request[T]) -> None:
        self.admit(request.header)
        for wait in self.runtime.before_work:
            await wait()
