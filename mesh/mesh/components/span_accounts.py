"""Span accounts that the shop's processes write."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mesh.paths import RunFolder


class SpanAccount(msgspec.Struct, frozen=True):
    """The account of one process.

    Attributes:
        recorded: Spans that have ended.
        exported: How many of these spans the collector has accepted.
        lost: How many of these spans the collector will never get.
        export_cpu_s: CPU seconds that the process needed to encode spans; 0 if it does not report this.
        cost_ns: Cost of a span for the thread that makes it, in ns of CPU time, by kind; empty before the process ends.
    """

    recorded: int
    exported: int
    lost: int
    export_cpu_s: float = 0.0
    cost_ns: Mapping[str, int] = msgspec.field(default_factory=dict)


def span_accounts(folder: RunFolder) -> dict[str, SpanAccount]:
    """The newest account of every process, by the process's name. Without spans, a process writes it when it ends."""
    files = sorted(folder.telemetry.glob("*.json"))
    return {file.stem: msgspec.json.decode(file.read_bytes(), type=SpanAccount) for file in files}


def spans_lost(accounts: Mapping[str, SpanAccount]) -> int:
    """Number of spans that these processes never delivered to the collector, by their own count."""
    return sum(account.lost for account in accounts.values())
