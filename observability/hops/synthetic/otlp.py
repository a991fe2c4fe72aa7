"""Made-up traces as files of OTLP JSON lines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from hops.synthetic.traces import shop_trace
from hops.traces.span import Span

_SPANS = 16


def write_exemplars(path: Path, journeys: pl.DataFrame, chosen: Mapping[str, Mapping[str, str]]) -> None:
    """Writes a made-up trace for each exemplar, as long as its journey took, one document a line.

    Args:
        path: of the file.
        journeys: rows of `tables.JOURNEYS`, the exemplars' among them.
        chosen: journey -> percentile -> trace id.
    """
    wanted = list(dict.fromkeys(trace_id for traces in chosen.values() for trace_id in traces.values()))
    rows = journeys.filter(pl.col("trace_id").is_in(wanted))
    lines = [json.dumps(otlp_document(_trace(row))) for row in rows.iter_rows(named=True)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def otlp_document(spans: Sequence[Span]) -> dict[str, Any]:
    """Spans as an OTLP document: one resource for each component."""
    by_service: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_service[span.service].append(span)
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [_attribute("service.name", service)]},
                "scopeSpans": [{"scope": {"name": "generated"}, "spans": [_span(span) for span in own]}],
            }
            for service, own in by_service.items()
        ]
    }


def _trace(row: Mapping[str, Any]) -> list[Span]:
    made = shop_trace(row["seq"], _SPANS)
    root = made[0]
    scale = row["latency_ns"] / (root.end_ns - root.start_ns)

    def moved(at_ns: int) -> int:
        return int(row["intended_ns"]) + int((at_ns - root.start_ns) * scale)

    attributes = {"shop.journey": row["journey"], "shop.channel": row["channel"]}
    return [
        replace(
            span,
            trace_id=row["trace_id"],
            name=row["journey"] if span is root else span.name,
            start_ns=moved(span.start_ns),
            end_ns=int(row["ended_ns"]) if span is root else moved(span.end_ns),
            attributes=attributes if span is root else span.attributes,
        )
        for span in made
    ]


def _span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": f"SPAN_KIND_{span.kind.value}",
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": [_attribute(key, value) for key, value in span.attributes.items()],
    }


def _attribute(key: str, value: Any) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": str(value)}}
