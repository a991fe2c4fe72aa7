"""How far apart the clocks of a cluster's nodes are, estimated from spans.

A call has four times: sent and answered by the caller's clock, begun and ended by the callee's clock. As in NTP (RFC
5905, section 8), the callee's clock is ahead by ((begun - sent) + (ended - answered)) / 2, plus or minus half of the
time on the wire. So calls with little time on the wire are the most precise.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable

from hops.traces.span import CLIENT, SERVER, Span

FASTEST = 0.25
"""Share of a pair's calls that count: those with the shortest time on the wire."""


def clock_offset_ms(traces: Iterable[Iterable[Span]], node_of: Callable[[Span], str]) -> float:
    """Estimates the largest difference, ms, between the clocks of two nodes that call each other; 0 if none do.

    Args:
        node_of: Gives the node that a span's component ran on; empty if unknown.
    """
    # By the nodes of caller and callee: time on the wire, and how far the callee's clock was ahead.
    seen: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for spans in traces:
        by_id = {span.span_id: span for span in spans}
        for span in by_id.values():
            call = by_id.get(span.parent_id)
            if span.kind is not SERVER or call is None or call.kind is not CLIENT:
                continue
            nodes = (node_of(call), node_of(span))
            if all(nodes) and nodes[0] != nodes[1]:
                out_ns, back_ns = span.start_ns - call.start_ns, call.end_ns - span.end_ns
                seen[nodes].append((out_ns + back_ns, (out_ns - back_ns) / 2))
    return max((abs(ahead_ns(calls)) for calls in seen.values()), default=0.0) / 1e6


def ahead_ns(calls: list[tuple[int, float]]) -> float:
    """Estimates how far a callee's clock is ahead, ns, from each call's time on the wire and seeming offset, ns."""
    fastest = sorted(calls)[: max(1, round(FASTEST * len(calls)))]
    return statistics.median(ahead for _, ahead in fastest)
