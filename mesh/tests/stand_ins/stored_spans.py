"""The spans of a trace that have reached Jaeger so far, for tests that wait until all have."""

from __future__ import annotations

import time
from collections import Counter

import httpx

from mesh.native.system import System


def stored_spans(shop: System, trace: str) -> list[tuple[dict[str, str], int]]:
    """Returns the text attributes and the number of spans of each resource with spans in the trace."""
    answer = httpx.get(f"{shop.ports.url('jaeger-query-http')}/api/v3/traces/{trace}", trust_env=False)
    if answer.status_code != 200:
        return []
    return [
        (
            {each["key"]: each["value"].get("stringValue", "") for each in spans["resource"]["attributes"]},
            sum(len(scope["spans"]) for scope in spans["scopeSpans"]),
        )
        for spans in answer.json()["result"]["resourceSpans"]
    ]


def count_spans(shop: System, trace: str, least: int, limit_s: float = 10.0) -> Counter[str]:
    """Returns a trace's number of spans by component, once the expected number has arrived, or after the limit."""
    until = time.monotonic() + limit_s
    counts: Counter[str] = Counter()
    while counts.total() < least and time.monotonic() < until:
        time.sleep(0.05)
        counts = Counter()
        for resource, spans in stored_spans(shop, trace):
            counts[resource["service.name"]] += spans
    return counts
