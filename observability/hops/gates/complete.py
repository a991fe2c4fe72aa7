"""Traces held against each other, and against what must be in them: a span that nobody made leaves no gap to be seen.

The same journey, sent over the same channel in as many requests, makes the same spans each time: what a trace has fewer
of than its kind, it has lost. Where the number depends on what was asked (some have more than most, or a component was
called less often), fewer is no loss, but none is. And whoever borrows a connection runs a statement on it.

What a shared cache in front of the edge has, nothing behind it answers: so hits make a separate kind.

What a cache has needs no statement: where there is a cache, it is only certain that one of the two was asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from hops.budget.parts import HIT_PART, Budget

_COMPARED = ("wire", "work", "proxy", "pool", "db")
_OF_STORES = ("pool", "db")
ENDS_AFTER_NS = 1_000_000
"""Over HTTP a callee may end its span when its answer has been read already: in the median by 0.1 ms and less, and by
0.55 ms where ten calls were few."""
_MIN_CALLS = 10
"""The median of fewer says more of them than of a clock."""
_SELDOM = 0.1
"""Share of a kind's traces that may have lost a span for the others to be its measure."""


def lacking(budgets: Iterable[Budget], keepers: Container[str]) -> int:
    """How many traces lack a span.

    Args:
        budgets: Budgets of journeys that ended ok.
        keepers: Components each request to which leaves a statement, or a question to its cache.
    """
    kinds: dict[tuple[str, str, int, int], list[Budget]] = defaultdict(list)
    for budget in budgets:
        requests = sum(count for part, count in budget.crossings.items() if part.startswith("wire:client→"))
        hits = budget.crossings.get(HIT_PART, 0)
        kinds[budget.journey, budget.channel, requests, hits].append(budget)
    return sum(_lacking(kind, keepers) for kind in kinds.values())


def _lacking(kind: Sequence[Budget], keepers: Container[str]) -> int:
    entered = {part for one in kind for part in one.crossings}
    parts = {part for part in entered if part.partition(":")[0] in _COMPARED} - _behind_caches(entered)
    least = {part: _least([one.crossings.get(part, 0) for one in kind]) for part in parts}
    return sum(_lost(one, least) or _without_statement(one, keepers) for one in kind)


def _lost(one: Budget, least: Mapping[str, int]) -> bool:
    """A component that was called less often has fewer of each part, in proportion; what is lost is of one part."""
    short = {_component(part) for part, count in least.items() if one.crossings.get(part, 0) < count}
    for name in short:
        parts = [part for part in least if _component(part) == name]
        shares = {Fraction(one.crossings.get(part, 0), least[part]) for part in parts if least[part]}
        if len(shares) > 1 or len(parts) == 1 or 0 in shares:
            return True
    return False


def _component(part: str) -> str:
    return part.rpartition("→" if "→" in part else ":")[2]


def _behind_caches(entered: Iterable[str]) -> set[str]:
    cached = {name for kind, _, name in (part.partition(":") for part in entered) if kind == "cache"}
    return {f"{kind}:{name}" for kind in _OF_STORES for name in cached}


def _least(counts: Sequence[int]) -> int:
    """How many spans of a part a trace must have."""
    often = Counter(counts)
    usual = max(often, key=lambda count: (often[count], count))
    below = sum(number for count, number in often.items() if count < usual)
    if usual == max(often) and below <= max(1, _SELDOM * len(counts)):
        return usual
    return 1 if often[0] <= _SELDOM * len(counts) else 0


def _without_statement(budget: Budget, keepers: Container[str]) -> bool:
    for part, count in budget.crossings.items():
        kind, _, name = part.partition(":")
        statements = budget.crossings.get(f"db:{name}", 0)
        asked = statements or budget.crossings.get(f"cache:{name}", 0)
        if (kind == "pool" and statements < count) or (kind == "work" and name in keepers and not asked):
            return True
    return False


def outside(budgets: Iterable[Budget]) -> int:
    """Calls of components whose spans mostly end well after their callers': of all of them, where a clock is ahead."""
    after_ns: dict[str, list[int]] = defaultdict(list)
    for budget in budgets:
        for call in budget.calls:
            after_ns[call.callee].append(call.after_ns)
    return sum(len(of) for of in after_ns.values() if len(of) >= _MIN_CALLS and np.median(of) < -ENDS_AFTER_NS)
