"""How far apart clocks are, within the bounds that calls allow; and spans corrected to one clock.

A callee cannot begin before its call, nor end after it. So each call allows only some offsets of the callee's clock,
from the difference between the ends of SERVER and CLIENT span to the difference between their starts. If an
offset of 0 does not suit all calls of a pair, the two clocks differ.

As in NTP (RFC 5905, section 8), the callee's clock is ahead by ((begun - sent) + (ended - answered)) / 2, plus or minus
half of the time on the wire. So calls with little time on the wire are the most precise. The estimate is clipped to the
bounds.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from statistics import median

import msgspec
from msgspec.structs import replace

from hops.traces.span import SERVER, Span
from hops.traces.tree import Tree

AGREEING = 0.98
"""Share of the calls that the bounds must suit: a few spans are closed late, and must not hide an offset."""
FASTEST = 0.25
"""Share of a pair's calls that the estimate is made from: those with the shortest time on the wire."""


class Clock(msgspec.Struct, frozen=True):
    """How far a callee's clock is ahead of its caller's.

    Args:
        low_ns: Smallest offset that the calls allow, except for the few strictest of them.
        high_ns: Largest offset, likewise; below `low_ns` if no single offset fits, for example because a clock was set.
        ahead_ns: Estimate, within these bounds if an offset fits.
    """

    caller: str
    callee: str
    calls: int
    low_ns: int
    high_ns: int
    ahead_ns: int
    outside: int = 0
    outside_ns: int = 0

    @property
    def differs(self) -> bool:
        """Whether the calls rule out that the two clocks agree."""
        if self.low_ns <= self.high_ns:
            return self.low_ns > 0 or self.high_ns < 0
        return False  # no single offset fits: some spans were closed late, or a clock was set


class Clocks:
    """Estimates of clock differences from the calls of many traces.

    Args:
        place_of: Gives the service, or the node, whose clock timed a span; empty if unknown.
    """

    def __init__(self, place_of: Callable[[Span], str] = attrgetter("service")) -> None:
        self._place_of = place_of
        self._pairs: dict[tuple[str, str], tuple[array[int], array[int], array[int]]] = defaultdict(
            lambda: (array("q"), array("q"), array("q"))
        )

    def add(self, tree: Tree) -> None:
        """Adds the calls of a tree, at the times that their spans reported."""
        for call in tree.calls:
            for child in call.children:
                caller, callee = call.span, child.span
                places = self._place_of(caller), self._place_of(callee)
                if callee.kind is SERVER and all(places) and places[0] != places[1]:
                    there, back = callee.start_ns - caller.start_ns, caller.end_ns - callee.end_ns
                    # A callee that took longer than its call was not waited for, and says nothing about clocks.
                    if there + back >= 0:
                        lows, highs, outside = self._pairs[places]
                        lows.append(-back)
                        highs.append(there)
                        if (by_ns := max(-there, callee.start_ns - caller.end_ns)) > 0:
                            outside.append(by_ns)

    def estimates(self) -> list[Clock]:
        """Lists the pairs of services, or nodes, that call each other, the largest difference first."""
        made = [_clock(*pair, *bounds) for pair, bounds in self._pairs.items()]
        return sorted(made, key=lambda one: (not one.differs, -abs(one.ahead_ns), one.caller, one.callee))


def offsets_ns(clocks: Iterable[Clock]) -> dict[str, int]:
    """Computes how far each service's clock is ahead of the clock of the first caller that leads to it.

    Offsets are added up from caller to callee, starting at services that nobody calls; services with more calls come
    first. There is an offset between two clocks only if calls rule out that they agree.
    """
    links: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    called: set[str] = set()
    for clock in clocks:
        ahead = clock.ahead_ns if clock.differs else 0
        links[clock.caller].append((clock.callee, ahead, clock.calls))
        links[clock.callee].append((clock.caller, -ahead, clock.calls))
        called.add(clock.callee)
    offsets: dict[str, int] = {}
    for first in sorted(links, key=lambda name: (name in called, -sum(one[2] for one in links[name]), name)):
        if first in offsets:
            continue
        offsets[first] = 0
        waiting = [first]
        for service in waiting:
            for other, ahead, _ in sorted(links[service], key=lambda one: (-one[2], one[0])):
                if other not in offsets:
                    offsets[other] = offsets[service] + ahead
                    waiting.append(other)
    return offsets


def correct_spans(spans: Iterable[Span], offsets: Mapping[str, int]) -> list[Span]:
    """Puts spans on one clock: moves each back by the offset of its service."""
    return [
        replace(span, start_ns=span.start_ns - offset, end_ns=span.end_ns and span.end_ns - offset)
        if (offset := offsets.get(span.service, 0)) and (span.start_ns or span.end_ns)
        else span
        for span in spans
    ]


def _at(values: array[int], share: float) -> int:
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def _clock(caller: str, callee: str, lows: array[int], highs: array[int], outside: array[int]) -> Clock:
    low, high = _at(lows, AGREEING), _at(highs, 1 - AGREEING)
    calls = sorted((above - below, (above + below) / 2) for below, above in zip(lows, highs, strict=True))
    estimate = round(median(ahead for _, ahead in calls[: max(1, round(FASTEST * len(calls)))]))
    if low <= high:
        estimate = min(max(estimate, low), high)
    return Clock(caller, callee, len(lows), low, high, estimate, len(outside), max(outside, default=0))
