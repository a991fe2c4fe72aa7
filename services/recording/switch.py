"""Switches between the ways to record spans."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from recording.account import SpanAccount
from shop.platform.telemetry.recorder import Tracing

TRACINGS = ("lean", "sdk")


class Instrument(Protocol):
    """A way to record spans."""

    def exporting(
        self, endpoint: str, resource: Mapping[str, str], account: SpanAccount
    ) -> AbstractAsyncContextManager[Tracing]:
        """Exports the spans of this process for as long as the context lasts, and all remaining spans at its end."""

    def discarding(self) -> AbstractContextManager[Tracing]:
        """Records spans and drops them, at the same cost as spans that are exported."""


def instrument_of(name: str) -> Instrument:
    """Returns the way to record spans that a name of `TRACINGS` stands for; imports only this way."""
    if name == "sdk":
        from recording import sdk

        return sdk
    from recording import lean

    return lean
