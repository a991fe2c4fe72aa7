"""The runtime of a measured process: the shop's own parts, with another span recorder and with injected delays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from opentelemetry import propagate

from measured.settings import Measurement
from recording.account import CacheAccount, SpanAccount
from recording.cost import span_costs
from recording.injected_delay import injected_delays
from recording.loop import LoopNotes
from recording.switch import instrument_of
from shop.platform.admission import admission
from shop.platform.config import ServiceConfig
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry import exporting
from shop.platform.telemetry.metering import metering
from shop.platform.telemetry.trace_context import PROPAGATOR
from shop.platform.telemetry.tracing import Spans


@asynccontextmanager
async def running(config: ServiceConfig, measurement: Measurement) -> AsyncIterator[Runtime]:
    """Sets up what the settings select, while the context lasts; raises `StartError` if the metrics' port is in use."""
    async with telemetry(config, measurement) as spans, metering(config) as meters, admission(config) as limit:
        cache = CacheAccount(measurement.account_file(config, "cache"))
        with injected_delays(measurement.delay_us, measurement.hold_us, measurement.hold_every) as delays:
            yield Runtime(spans, meters, limit, cache.note, tuple(delay.pause for delay in delays))
        if config.cache_url is not None:
            cache.write()


@asynccontextmanager
async def telemetry(config: ServiceConfig, measurement: Measurement) -> AsyncIterator[Spans]:
    """Sends the spans of this process to a collector, if there is one, and writes an account of them at the end."""
    if config.otlp_endpoint is None:
        yield Spans()
        return
    instrument = instrument_of(measurement.tracing)
    account = SpanAccount(measurement.account_file(config))
    propagate.set_global_textmap(PROPAGATOR)
    async with instrument.exporting(config.otlp_endpoint, resource(config, measurement), account) as tracing:
        yield Spans(tracing, LoopNotes().note_moment)
    with instrument.discarding() as tracing:
        account.write(span_costs(tracing))


def resource(config: ServiceConfig, measurement: Measurement) -> dict[str, str]:
    """Returns the attributes of the component that a process's spans belong to."""
    return {**exporting.resource(config), "shop.topology": measurement.topology, "shop.trial": measurement.trial}
