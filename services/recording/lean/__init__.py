"""Spans that only note values, and are exported in pauses, so that they hardly disturb the measurement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from recording.account import SpanAccount
from recording.lean.export import SpanExporter
from recording.lean.recorder import Recorder


@asynccontextmanager
async def exporting(endpoint: str, resource: Mapping[str, str], account: SpanAccount) -> AsyncIterator[Recorder]:
    recorder = Recorder()
    async with SpanExporter(recorder, account, endpoint, resource):
        yield recorder


@contextmanager
def discarding() -> Iterator[Recorder]:
    yield Recorder()
