"""What a process has besides its settings: what measures, traces and protects it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shop.platform.admission import Admission, admission
from shop.platform.config import ServiceConfig
from shop.platform.telemetry.exporting import telemetry
from shop.platform.telemetry.metering import metering
from shop.platform.telemetry.tracing import Spans

if TYPE_CHECKING:
    from shop.platform.telemetry.meters import Meters


def _count_nothing(_asked: int, _hits: int, _unanswered: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Runtime:
    """What `launch` sets up once and passes on.

    Attributes:
        meters: Measures requests, calls, statements and queues; None where nothing is measured.
        admission: Refuses requests when there are too many; None where all are admitted.
        note_cache: Called with how many rows were sought in a cache, how many it had, and how many questions it did not
            answer.
        before_work: Awaited, one after the other, before the work of each request.
    """

    spans: Spans = field(default_factory=Spans)
    meters: Meters | None = None
    admission: Admission | None = None
    note_cache: Callable[[int, int, int], None] = _count_nothing
    before_work: tuple[Callable[[], Awaitable[None]], ...] = ()


BARE = Runtime()
"""Traces, measures and refuses nothing."""


@asynccontextmanager
async def running(config: ServiceConfig) -> AsyncIterator[Runtime]:
    """Sets up what the configuration asks for, for as long as the context lasts.

    Raises:
        StartError: The port of the metrics is in use.
    """
    async with telemetry(config) as spans, metering(config) as meters, admission(config) as limit:
        yield Runtime(spans, meters, limit)
