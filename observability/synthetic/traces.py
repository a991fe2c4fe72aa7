"""Synthetic traces, shaped like the shop's traces, and their form as OTLP JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

from hops.budget.parts import EDGE, GENERATOR, INBOUND, OUTBOUND, POOL_SPAN, START_LAG_SPAN
from hops.traces.span import CLIENT, INTERNAL, SERVER, Kind, Span
from hops.traces.write_otlp import otlp_document
from hops.units import SERVICES
from synthetic.shop import GATEWAY

BASE_NS = 1_767_225_600_000_000_000


def shop_trace(
    seed: int,
    spans: int = 30,
    *,
    trace_id: str | None = None,
    journey: str | None = None,
    channel: str = "web",
    start_ns: int = BASE_NS,
    total_ns: int | None = None,
    mesh: bool = False,
) -> list[Span]:
    """Makes one trace of a journey through edge and gateway, of 6 or more spans; the seed decides what is not given."""
    rng = random.Random(seed)
    drawn_id = f"{rng.getrandbits(128) | 1:032x}"
    trace: list[Span] = []

    def add(name: str, kind: Kind, service: str, parent: Span | None, start: int, end: int, **extra: str) -> Span:
        attributes = {key.replace("__", "."): value for key, value in extra.items()}
        parent_id = parent.span_id if parent else ""
        span_id = f"{len(trace) + 1:016x}"
        trace.append(Span(trace_id or drawn_id, span_id, parent_id, name, kind, service, start, end, attributes))
        return trace[-1]

    def within(outer: Span, share: float = 0.05) -> tuple[int, int]:
        length = outer.end_ns - outer.start_ns
        before, after = (int(length * share * rng.random()) for _ in range(2))
        return outer.start_ns + 1 + before, outer.end_ns - 1 - after

    def by_way_of_sidecars(call: Span, callee: str) -> Span:
        """Makes the CLIENT span that the callee answers."""
        for sidecar in (call.service + OUTBOUND, callee + INBOUND) if mesh else ():
            proxy = add("proxy", SERVER, sidecar, call, *within(call))
            call = add("router", CLIENT, sidecar, proxy, *within(proxy))
        return call

    drawn_ns = int(rng.lognormvariate(16.5, 0.4))
    length_ns = drawn_ns if total_ns is None else total_ns
    drawn_journey = rng.choice(("browse", "product", "order_history", "checkout"))
    name = journey or drawn_journey
    end_ns = start_ns + length_ns
    root = add(name, INTERNAL, GENERATOR, None, start_ns, end_ns, shop__journey=name, shop__channel=channel)
    lag = add(START_LAG_SPAN, INTERNAL, GENERATOR, root, start_ns, start_ns + length_ns // 100)
    request = add("POST /graphql", CLIENT, GENERATOR, root, lag.end_ns, end_ns - 1000)
    edge = add(EDGE, SERVER, EDGE, request, *within(request))
    upstream = add("router", CLIENT, EDGE, edge, *within(edge))
    upstream = by_way_of_sidecars(upstream, GATEWAY)
    gateway = add("POST /graphql", SERVER, GATEWAY, upstream, *within(upstream))
    while len(trace) < spans:
        service = rng.choice(SERVICES)
        low, high = within(gateway, 0.8)
        call = add("rpc", CLIENT, GATEWAY, gateway, min(low, high), max(low, high) + 100)
        call = by_way_of_sidecars(call, service)
        if len(trace) < spans or mesh:
            server = add("rpc", SERVER, service, call, *within(call, 0.3))
        if len(trace) < spans:
            low, high = within(server, 0.9)
            add(POOL_SPAN, INTERNAL, service, server, min(low, high), max(low, high))
        if len(trace) < spans:
            add("SELECT", CLIENT, service, server, *within(server, 0.3), db__system__name="postgresql")
    return trace


def write_lines(path: Path, journeys: Iterable[tuple[str, str]], *, spans: int = 30, shapes: int = 50) -> int:
    """Writes many traces as OTLP JSON lines, `shapes` different ones for each journey; returns the number of spans."""
    drawn: dict[str, list[tuple[bytes, bytes]]] = {}
    written = 0
    with path.open("wb") as lines:
        for number, (trace_id, journey) in enumerate(journeys):
            if journey not in drawn:
                traces = [shop_trace(seed, spans, journey=journey) for seed in range(shapes)]
                drawn[journey] = [(one[0].trace_id.encode(), json.dumps(otlp_document(one)).encode()) for one in traces]
            recurring, line = drawn[journey][number % shapes]
            lines.write(line.replace(recurring, trace_id.encode()) + b"\n")
            written += spans
    return written
