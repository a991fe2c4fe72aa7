"""What a process has besides its settings: what measures it, traces it, and protects it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shop.platform.admission import Admission, admission
from shop.platform.config import ServiceConfig
from shop.platform.process.injected_delay import Delay, injected_delays
from shop.platform.telemetry.exporting import telemetry
from shop.platform.telemetry.metering import metering
from shop.platform.telemetry.tracing import Spans

if TYPE_CHECKING:
    from shop.instrument.meters import Meters


@dataclass(frozen=True, slots=True)
class Runtime:
    """What `launch` sets up once and passes on.

    Attributes:
        spans: Records spans, and accounts for the event loop.
        meters: Measures requests, calls, statements and queues; None where nothing is measured.
        admission: Refuses requests when there are too many; None where all are admitted.
        delays: Delay each request, for proofs of the measurement.
    """

    spans: Spans = field(default_factory=Spans)
    meters: Meters | None = None
    admission: Admission | None = None
    delays: tuple[Delay, ...] = ()


BARE = Runtime()
"""Traces, measures, refuses and delays nothing."""


@asynccontextmanager
async def running(config: ServiceConfig) -> AsyncIterator[Runtime]:
    """Sets up what the configuration asks for, for as long as the context lasts.

    Raises:
        StartError: The port of the metrics is in use.
    """
    async with telemetry(config) as spans, metering(config) as meters, admission(config) as limit:
        with injected_delays(config) as delays:
            yield Runtime(spans, meters, limit, delays)
