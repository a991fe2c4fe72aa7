"""Traces made up from a seed, shaped like those of the shop: for the benchmark and for tests."""

from __future__ import annotations

import random

from hops.budget.budget import POOL_SPAN
from hops.traces.span import Kind, Span

BASE_NS = 1_767_225_600_000_000_000
SERVICES = ("product", "order", "user", "payment")


def shop_trace(seed: int, spans: int = 30) -> list[Span]:
    """Makes one trace of a journey through edge and gateway to the services, as many spans as asked for.

    Args:
        seed: same seed, same trace.
        spans: at least 6.
    """
    rng = random.Random(seed)
    trace_id = f"{rng.getrandbits(128) | 1:032x}"
    made: list[Span] = []

    def add(name: str, kind: Kind, service: str, parent: Span | None, start: int, end: int, **extra: str) -> Span:
        span = Span(
            trace_id=trace_id,
            span_id=f"{len(made) + 1:016x}",
            parent_id=parent.span_id if parent else "",
            name=name,
            kind=kind,
            service=service,
            start_ns=start,
            end_ns=end,
            attributes={key.replace("__", "."): value for key, value in extra.items()},
        )
        made.append(span)
        return span

    def within(outer: Span, share: float = 0.05) -> tuple[int, int]:
        length = outer.end_ns - outer.start_ns
        return (
            outer.start_ns + 1 + int(length * share * rng.random()),
            outer.end_ns - 1 - int(length * share * rng.random()),
        )

    total = int(rng.lognormvariate(16.5, 0.4))
    journey = rng.choice(("browse", "product", "order_history", "checkout"))
    root = add(
        journey, Kind.INTERNAL, "client", None, BASE_NS, BASE_NS + total,
        shop__journey=journey, shop__channel="web",
    )  # fmt: skip
    lag = add("start_lag", Kind.INTERNAL, "client", root, root.start_ns, root.start_ns + total // 100)
    request = add("POST /graphql", Kind.CLIENT, "client", root, lag.end_ns, root.end_ns - 1000)
    edge = add("edge", Kind.SERVER, "edge", request, *within(request))
    upstream = add("router", Kind.CLIENT, "edge", edge, *within(edge))
    gateway = add("POST /graphql", Kind.SERVER, "graphql-gateway", upstream, *within(upstream))
    while len(made) < spans:
        service = rng.choice(SERVICES)
        low, high = within(gateway, 0.8)
        call = add("rpc", Kind.CLIENT, "graphql-gateway", gateway, min(low, high), max(low, high) + 100)
        if len(made) < spans:
            server = add("rpc", Kind.SERVER, service, call, *within(call, 0.3))
        if len(made) < spans:
            low, high = within(server, 0.9)
            add(POOL_SPAN, Kind.INTERNAL, service, server, min(low, high), max(low, high))
        if len(made) < spans:
            add("SELECT", Kind.CLIENT, service, server, *within(server, 0.3), db__system__name="postgresql")
    return made
