"""Metrics of requests, calls, statements and queues, if the process is configured to have metrics.

Times and counts cover all requests, traced or not. The time of a traced request is recorded with its trace id.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from shop.platform.config import ServiceConfig, port_in_use, split_address
from shop.platform.telemetry.meters import Meters, Timing
from shop.platform.telemetry.tracing import sampled_traceparent

T = TypeVar("T")

LOOK_S = 1.0
"""Pause between two measurements of the event loop's delay, in seconds: each measurement wakes an idle process."""
_SAMPLED = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-01")


class MeasuredRequest:
    """A request that is being answered.

    Attributes:
        began: When it arrived, by `time.perf_counter`.
        trace_id: Its trace, in hexadecimal digits; empty if it is not traced.
        route: The template of its route; empty if there is no route.
        operation: Its operation, where no route shows it; a low-cardinality name.
        error: What failed in this process or behind it, where no status shows the failure; empty for no failure.
    """

    __slots__ = ("began", "error", "operation", "route", "trace_id")

    def __init__(self, traceparent: str) -> None:
        self.began = time.perf_counter()
        self.trace_id = trace_id_of(traceparent)
        self.route = self.operation = self.error = ""

    @property
    def seconds(self) -> float:
        """Time since the request arrived, in seconds."""
        return time.perf_counter() - self.began


_ASKED: ContextVar[MeasuredRequest | None] = ContextVar("shop.asked", default=None)


def trace_id_of(traceparent: str | None) -> str:
    """Returns the trace of a sampled context (W3C), in hexadecimal digits; empty for any other context."""
    sampled = _SAMPLED.fullmatch(traceparent) if traceparent else None
    return sampled[1] if sampled else ""


def begin_request(traceparent: str | None) -> MeasuredRequest:
    """Begins to measure a request that has arrived; the measurement ends with the task."""
    request = MeasuredRequest(traceparent or "")
    _ASKED.set(request)
    return request


def add_details(*, route: str = "", operation: str = "", error: str = "") -> None:
    """Adds to the current request what path and status do not show; arguments as in `MeasuredRequest`."""
    request = _ASKED.get()
    if request is not None:
        request.route = route or request.route
        request.operation = operation or request.operation
        request.error = error or request.error


async def measure(timing: Timing, values: tuple[str, ...], work: Coroutine[Any, Any, T]) -> T:
    """Does work that a request waits for, and measures it; `values` lack the last attribute: the error."""
    began = time.perf_counter()
    try:
        result = await work
    except BaseException as error:
        note_since(timing, (*values, type(error).__qualname__), began)
        raise
    note_since(timing, (*values, ""), began)
    return result


def note_since(timing: Timing, values: tuple[str, ...], began: float) -> None:
    """Records work that began at `began` (`time.perf_counter`) and ends now, with the trace of the current request."""
    timing.note(values, time.perf_counter() - began, trace_id_of(sampled_traceparent()))


@asynccontextmanager
async def metering(config: ServiceConfig) -> AsyncIterator[Meters | None]:
    """Serves metrics for as long as the context lasts; does nothing without an address to listen on.

    A thread answers the scrapes, so that requests wait for a scrape no longer than for any other thread's turn. Raises
    `StartError` if the port is in use.
    """
    if config.listen_metrics is None:
        yield None
        return
    # Imported here, so that a process without metrics does not load the module.
    from prometheus_client import start_http_server

    meters = Meters()
    host, port = split_address(config.listen_metrics)
    try:
        server, thread = start_http_server(port, host, meters.registry)
    except OSError as error:
        raise port_in_use(config.listen_metrics, error.strerror) from error
    looking = asyncio.create_task(_loop_delay(meters))
    try:
        yield meters
    finally:
        looking.cancel()
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        thread.join()


async def _loop_delay(meters: Meters) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(LOOK_S)
        meters.loop_delay.note((), max(0.0, time.perf_counter() - began - LOOK_S))
