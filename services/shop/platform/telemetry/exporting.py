"""Where the spans of a process go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from opentelemetry import propagate

from shop.instrument.account import SpanAccount
from shop.instrument.switch import instrument_of
from shop.platform.config import ServiceConfig
from shop.platform.telemetry.cost import span_costs
from shop.platform.telemetry.trace_context import PROPAGATOR
from shop.platform.telemetry.tracing import Spans


@asynccontextmanager
async def telemetry(config: ServiceConfig) -> AsyncIterator[Spans]:
    """Sends the spans of this process to where the configuration says, and flushes them at the end.

    Args:
        config: Names the component, the collector, the topology and the trial, and what records the spans; without a
            collector nothing is traced.

    Yields:
        What records the spans.
    """
    if config.otlp_endpoint is None:
        yield Spans()
        return
    instrument = instrument_of(config.tracing)
    account = SpanAccount(account_file(config))
    propagate.set_global_textmap(PROPAGATOR)
    async with instrument.exporting(config.otlp_endpoint, resource(config), account) as tracing:
        yield Spans(tracing)
    with instrument.discarding() as tracing:
        account.write(span_costs(tracing))


def account_file(config: ServiceConfig) -> Path | None:
    """Returns the path of the file in which a process accounts for its spans; None for no such file."""
    if config.telemetry_folder is None:
        return None
    return Path(config.telemetry_folder) / f"{config.instance or config.component}.json"


def resource(config: ServiceConfig) -> dict[str, str]:
    """Returns what the spans of a process belong to."""
    attributes = {"service.name": config.component, "shop.topology": config.topology, "shop.trial": config.trial}
    return attributes | ({"service.instance.id": config.instance} if config.instance else {})
