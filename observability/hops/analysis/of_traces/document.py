"""The results of analysing any system's traces, as a document for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from hops.analysis.of_traces.operations import Analysed, Operation
from hops.budget.parts import Budget
from hops.sources.trace_set import TraceSet

SCHEMA = 1


def traces_document(read: TraceSet, analysed: Analysed, operations: Sequence[Operation]) -> dict[str, Any]:
    """Converts all results to plain values for JSON.

    Returns:
        `end_to_end`: whether budgets reach the last span's end. `inputs`: name, format, spans, refused. `refused` and
        `limited`: sentences, as `TraceSet` has them. `trust`: `quality` and the rest of `Trust`. `operations`: as
        `Operation`, with `tail_ms` by part. `traces`: to the nanosecond, each exemplar by its id.
    """
    wanted = {trace_id for one in operations for trace_id in one.exemplars.values()}
    trust = asdict(analysed.trust)
    return {
        "schema": SCHEMA,
        "end_to_end": analysed.end_to_end,
        "inputs": [asdict(one) for one in read.inputs],
        "refused": read.refused,
        "limited": read.limited,
        "trust": {
            **trust,
            "quality": asdict(analysed.trust.quality),
            "clocks": [{**asdict(one), "differs": one.differs} for one in analysed.trust.clocks],
        },
        "operations": [{**asdict(one), "tail_ms": dict(one.tail)} for one in operations],
        "traces": {one.trace_id: trace_document(one) for one in analysed.budgets if one.trace_id in wanted},
    }


def trace_document(one: Budget) -> Mapping[str, Any]:
    """Converts one budget to plain values, to the nanosecond."""
    return {
        "trace_id": one.trace_id,
        "journey": one.journey,
        "channel": one.channel,
        "total_ns": one.total_ns,
        "after_ns": one.after_ns,
        "parts_ns": dict(sorted(one.parts.items(), key=lambda item: (-item[1], item[0]))),
        "crossings": dict(one.crossings),
        "quality": asdict(one.quality),
    }
