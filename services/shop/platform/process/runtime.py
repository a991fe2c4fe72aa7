"""What a process has in addition to its settings: metrics, traces and protection against overload."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from shop.platform.admission import Admission, admission
from shop.platform.config import ServiceConfig
from shop.platform.telemetry.exporting import telemetry
from shop.platform.telemetry.metering import metering
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.tracing import Spans


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts that `launch` sets up once and passes on; without meters or admission, nothing is measured or refused.

    Attributes:
        note_cache: Called with the numbers of rows requested from a cache, of hits, and of commands without an answer.
        before_work: Awaited in order, before the work of each request.
    """

    spans: Spans = field(default_factory=Spans)
    meters: Meters | None = None
    admission: Admission | None = None
    note_cache: Callable[[int, int, int], None] = lambda *_: None
    before_work: tuple[Callable[[], Awaitable[None]], ...] = ()


BARE = Runtime()
"""A runtime without traces, metrics or admission control."""


@asynccontextmanager
async def running(config: ServiceConfig) -> AsyncIterator[Runtime]:
    """Sets up what the configuration selects, while the context lasts; raises `StartError` if a port is in use."""
    async with telemetry(config) as spans, metering(config) as meters, admission(config) as limit:
        yield Runtime(spans, meters, limit)
