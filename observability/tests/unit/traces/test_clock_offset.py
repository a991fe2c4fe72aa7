"""Clock differences between nodes are detected from the spans of calls between them."""

from __future__ import annotations

import random

import pytest

from hops.traces.clock_offset import clock_offset_ms
from hops.traces.span import Kind, Span

NODES = {"gateway": "a", "order": "b", "product": "c"}


def node_of(span: Span) -> str:
    return NODES.get(span.service, "")


def call(
    caller: str, callee: str, *, ahead_ms: float, wire_us: tuple[float, float] = (80, 120), at_ms: float = 0
) -> list[Span]:
    """Makes a call whose callee's clock is ahead, with given times on the wire in each direction."""
    start = 10**18 + round(at_ms * 1e6)
    begun = start + round(wire_us[0] * 1e3 + ahead_ms * 1e6)
    ended = begun + 2_000_000
    answered = start + round(sum(wire_us) * 1e3) + 2_000_000
    return [
        Span("t", "c", "", "call", Kind.CLIENT, caller, start, answered),
        Span("t", "s", "c", "serve", Kind.SERVER, callee, begun, ended),
    ]


@pytest.mark.parametrize("ahead_ms", [0.0, 3.0, -7.5])
def test_it_is_found_to_within_half_of_the_wire(ahead_ms: float) -> None:
    traces = [call("gateway", "order", ahead_ms=ahead_ms)]
    assert clock_offset_ms(traces, node_of) == pytest.approx(abs(ahead_ms), abs=0.1)


def test_slow_calls_do_not_blur_it() -> None:
    rng = random.Random(4)
    quick = [call("gateway", "order", ahead_ms=2.0, wire_us=(50, 50)) for _ in range(30)]
    queued = [call("gateway", "order", ahead_ms=2.0, wire_us=(rng.uniform(5e3, 5e4), 50)) for _ in range(70)]
    assert clock_offset_ms(quick + queued, node_of) == pytest.approx(2.0, abs=0.01)


def test_the_largest_of_several_nodes_counts() -> None:
    traces = [call("gateway", "order", ahead_ms=1.0), call("gateway", "product", ahead_ms=-4.0)]
    assert clock_offset_ms(traces, node_of) == pytest.approx(4.0, abs=0.1)


def test_calls_on_one_node_or_of_unknown_places_say_nothing() -> None:
    same = call("gateway", "gateway", ahead_ms=5.0)
    unknown = call("gateway", "client", ahead_ms=5.0)
    assert clock_offset_ms([same, unknown], node_of) == 0.0
