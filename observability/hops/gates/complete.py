"""Finds traces that lack spans, by comparing traces with each other: a span that was never made leaves no gap.

The same journey, sent over the same channel in the same number of requests, makes the same spans each time. A trace
with fewer spans than others of its kind has lost some. If the number depends on the request (some traces have more than
most, or a component was called less often), a lower number is not a loss, but zero is. And every borrowed connection
must run a statement.

A canary is counted as the component that it stands in for: which of both gets a call is decided by chance.

A shared cache in front of the edge answers hits itself, without spans of the components behind it, so hits are a
separate kind. An answer from a service's cache needs no statement: with a cache, a service is only certain to use
either the cache or the database.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from hops.budget.parts import HIT_PART, Budget
from hops.units import CANARY

Crossings = Mapping[str, int]
"""How often a trace crossed each part."""
_COMPARED = ("wire", "work", "proxy", "pool", "db")
_OF_STORES = ("pool", "db")
ENDS_AFTER_NS = 1_000_000
"""Over HTTP, a callee may end its span after its answer was read. The median delay is at most 0.1 ms; with only ten
calls it was 0.55 ms."""
_MIN_CALLS = 10
"""With fewer calls, the median says more about these calls than about a clock."""
_SELDOM = 0.1
"""Maximum share of a kind's traces that may have lost a span; all other traces set the norm."""


def lacking(budgets: Iterable[Budget], keepers: Container[str]) -> int:
    """Counts traces that lack a span; in `keepers`, each request leaves a span of a statement or of a cache query."""
    kinds: dict[tuple[str, str, int, int], list[Crossings]] = defaultdict(list)
    for budget in budgets:
        requests = sum(count for part, count in budget.crossings.items() if part.startswith("wire:client→"))
        hits = budget.crossings.get(HIT_PART, 0)
        kinds[budget.journey, budget.channel, requests, hits].append(_merge_canary(budget.crossings))
    return sum(_lacking(kind, keepers) for kind in kinds.values())


def _merge_canary(crossings: Crossings) -> Crossings:
    merged: Counter[str] = Counter()
    for part, count in crossings.items():
        merged[part.replace(CANARY, CANARY.removesuffix("-canary"))] += count
    return merged


def _lacking(kind: Sequence[Crossings], keepers: Container[str]) -> int:
    entered = {part for one in kind for part in one}
    parts = {part for part in entered if part.partition(":")[0] in _COMPARED} - _behind_caches(entered)
    least = {part: _least([one.get(part, 0) for one in kind]) for part in parts}
    return sum(_lost(one, least) or _without_statement(one, keepers) for one in kind)


def _lost(one: Crossings, least: Crossings) -> bool:
    """Whether a trace lost a span: a component that was called less often has proportionally fewer of each part."""
    short = {_component(part) for part, count in least.items() if one.get(part, 0) < count}
    for name in short:
        parts = [part for part in least if _component(part) == name]
        shares = {Fraction(one.get(part, 0), least[part]) for part in parts if least[part]}
        if len(shares) > 1 or len(parts) == 1 or 0 in shares:
            return True
    return False


def _component(part: str) -> str:
    return part.rpartition("→" if "→" in part else ":")[2]


def _behind_caches(entered: Iterable[str]) -> set[str]:
    cached = {name for kind, _, name in (part.partition(":") for part in entered) if kind == "cache"}
    return {f"{kind}:{name}" for kind in _OF_STORES for name in cached}


def _least(counts: Sequence[int]) -> int:
    """Computes how many spans of a part a trace must have."""
    often = Counter(counts)
    usual = max(often, key=lambda count: (often[count], count))
    below = sum(number for count, number in often.items() if count < usual)
    if usual == max(often) and below <= max(1, _SELDOM * len(counts)):
        return usual
    return 1 if often[0] <= _SELDOM * len(counts) else 0


def _without_statement(one: Crossings, keepers: Container[str]) -> bool:
    for part, count in one.items():
        kind, _, name = part.partition(":")
        statements = one.get(f"db:{name}", 0)
        asked = statements or one.get(f"cache:{name}", 0)
        if (kind == "pool" and statements < count) or (kind == "work" and name in keepers and not asked):
            return True
    return False


def outside(budgets: Iterable[Budget]) -> int:
    """Counts calls to components whose clock is ahead: most of their spans end well after their callers' spans.

    Such spans also begin late, by at least as much as the clock is ahead. Spans that only end late were ended late.
    """
    calls: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for budget in budgets:
        for call in budget.calls:
            calls[call.callee].append((-call.after_ns, call.ahead_ns - call.queued_ns))
    return sum(
        len(of) for of in calls.values() if len(of) >= _MIN_CALLS and np.median(of, axis=0).min() > ENDS_AFTER_NS
    )
