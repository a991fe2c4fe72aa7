"""The figures of any system's traces: how trustworthy they are, and the budgets of each root operation in bands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import gcd

import msgspec
from msgspec.structs import asdict

from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.bands import banded_traces, nearest_trace, quantile
from hops.budget.mapping import NameMap
from hops.budget.parts import UNATTRIBUTED, Budget
from hops.traces.clocks import Clock, Clocks, correct_spans, offsets_ns
from hops.traces.foreign import EARLIEST_NS
from hops.traces.span import UNKNOWN_SERVICE, Span
from hops.traces.tree import Quality, Tree
from hops.units import NS_PER_MS

_RESOLUTIONS = (1_000_000_000, 1_000_000, 1_000)


class Operation(msgspec.Struct, frozen=True):
    """The traces of one root operation.

    Args:
        name: The root's service and span name; for the shop's traces, the journey.
        parts_ns: Nanoseconds by part, summed over all traces, the largest first; they add up to `total_ns`.
        latency_ms: Milliseconds: `mean`, `p50` and `p99`.
        budget_ms: Mean ms by part, for each of `bands.BANDS`.
        exemplars: Ids of the traces nearest to `p50` and `p99`.
        after_ms: Mean time of a trace after its root's end, ms; it is in no budget.
    """

    name: str
    traces: int
    total_ns: int
    parts_ns: Mapping[str, int]
    latency_ms: Mapping[str, float]
    budget_ms: Mapping[str, Mapping[str, float]]
    exemplars: Mapping[str, str]
    after_ms: float

    @property
    def distinct_exemplars(self) -> dict[str, str]:
        """The exemplars by `p50` and `p99`; only one if both are the same trace."""
        ids = self.exemplars
        return {name: ids[name] for name in (("p50",) if ids["p50"] == ids["p99"] else ("p50", "p99"))}

    @property
    def tail(self) -> list[tuple[str, float]]:
        """Parts that take longer in the p99 band than in the p50 band, and by how many ms, the largest first."""
        middle, slow = self.budget_ms["p50_band"], self.budget_ms["p99_band"]
        more = [(part, ms - middle.get(part, 0.0)) for part, ms in slow.items()]
        return sorted((one for one in more if one[1] > 0), key=lambda one: (-one[1], one[0]))


class Trust(msgspec.Struct):
    """How trustworthy traces are.

    Args:
        complete: Number of traces with a root, no orphans, and an answer to each call that should have one.
        gap_ns: Largest difference between a total and the sum of its parts: 0, or the code is wrong.
        resolution_ns: Largest of 1, 1,000, 1,000,000 and 1,000,000,000 ns that divides all times.
        unattributed: Share of all time that no part explains, 0 to 1.
        linked: Number of traces whose root links to a span of another trace. They do not include waits before the root.
        clocks: Clock difference of each pair of services, the largest first.
        corrected: By how much each service's spans were moved, ns; empty if none were moved.
        first: For each count of `quality` above 0, the first trace with that defect.
        early: Number of traces from 1970: their times count from 0, or are in another unit.
        going_on: Number of traces that last longer than their root.
        after_ns: Time of all traces after their roots, ns.
        longest: The trace with the most time after its root; empty if no trace has any.
    """

    quality: Quality = msgspec.field(default_factory=Quality)
    complete: int = 0
    gap_ns: int = 0
    resolution_ns: int = 1
    unattributed: float = 0.0
    nameless: int = 0
    linked: int = 0
    clocks: Sequence[Clock] = ()
    corrected: Mapping[str, int] = {}
    unused: Sequence[str] = ()
    first: dict[str, str] = {}
    early: int = 0
    going_on: int = 0
    after_ns: int = 0
    longest: str = ""
    longest_ns: int = 0


class Analysed(msgspec.Struct):
    """Budgets of any system's traces."""

    budgets: list[Budget]
    trust: Trust
    names: NameMap | None = None
    end_to_end: bool = False

    def tree(self, spans: Sequence[Span]) -> Tree:
        """Rebuilds the tree of one trace as it was when its budget was made."""
        spans = correct_spans(spans, self.trust.corrected) if self.trust.corrected else spans
        return tree_of(spans, self.names, end_to_end=self.end_to_end)


def analyse(
    traces: Mapping[str, Sequence[Span]],
    *,
    names: NameMap | None = None,
    correct_clocks: bool = False,
    end_to_end: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Analysed:
    """Makes the budgets of any system's traces.

    Args:
        correct_clocks: Whether to move the spans of services whose clocks differ.
        progress: Called with the number of traces analysed so far, and the number of all traces.
    """
    made = prepare(traces, names, correct_clocks=correct_clocks, end_to_end=end_to_end)
    trust = made.trust
    clocks = Clocks()
    # Every common divisor of all times divides their greatest common divisor.
    divisor = unattributed = total = 0
    for number, spans in enumerate(traces.values(), 1):
        divisor = gcd(divisor, *(span.start_ns for span in spans), *(span.end_ns for span in spans))
        tree = made.tree(spans)
        if not correct_clocks:
            clocks.add(tree_of(spans, names) if end_to_end else tree)  # from the times that spans reported
        _note(trust, tree)
        budget = budget_of_any(tree)
        if budget is not None:
            made.budgets.append(budget)
            trust.gap_ns = max(trust.gap_ns, budget.gap_ns)
            unattributed += budget.parts.get(UNATTRIBUTED, 0)
            total += budget.total_ns
            if budget.after_ns:
                trust.going_on += 1
                trust.after_ns += budget.after_ns
                if budget.after_ns > trust.longest_ns:
                    trust.longest, trust.longest_ns = budget.trace_id, budget.after_ns
        if progress is not None:
            progress(number, len(traces))
    if not correct_clocks:
        trust.clocks = clocks.estimates()
    trust.resolution_ns = next((one for one in _RESOLUTIONS if divisor and not divisor % one), 1)
    trust.unattributed = unattributed / total if total else 0.0
    trust.unused = () if names is None else names.unused
    return made


def prepare(
    traces: Mapping[str, Sequence[Span]], names: NameMap | None, *, correct_clocks: bool, end_to_end: bool
) -> Analysed:
    """Prepares what all trees share before any budget is made: names, end of the root, and clock corrections."""
    made = Analysed([], Trust(), names, end_to_end)
    if correct_clocks:
        clocks = Clocks()
        for spans in traces.values():
            clocks.add(tree_of(spans))  # by the reported names, because spans are corrected before they are renamed
        made.trust.clocks = clocks.estimates()
        made.trust.corrected = {name: offset for name, offset in offsets_ns(made.trust.clocks).items() if offset}
    return made


def operations_of(budgets: Iterable[Budget]) -> list[Operation]:
    """Computes figures by root operation, sorted by their total time, the longest first."""
    by_name: dict[str, dict[str, Budget]] = defaultdict(dict)
    for one in budgets:
        by_name[one.journey][one.trace_id] = one
    return sorted((_operation(name, own) for name, own in by_name.items()), key=lambda one: (-one.total_ns, one.name))


def _note(trust: Trust, tree: Tree) -> None:
    trust.quality.add(tree.quality)
    if tree.nodes:
        for name, count in asdict(tree.quality).items():
            if count and name not in trust.first:
                trust.first[name] = tree.nodes[0].span.trace_id
    trust.complete += tree.quality.complete
    trust.nameless += sum(node.span.service == UNKNOWN_SERVICE for node in tree.nodes)
    if tree.root is not None:
        trust.early += tree.root.span.start_ns < EARLIEST_NS
        trust.linked += any(trace_id != tree.root.span.trace_id for trace_id, _ in tree.root.span.links)


def _operation(name: str, budgets: Mapping[str, Budget]) -> Operation:
    totals = {trace_id: one.total_ns for trace_id, one in budgets.items()}
    ordered = sorted(totals.values())
    bands = banded_traces(totals)
    sums = {band: _sums(budgets[trace_id] for trace_id in inside) for band, inside in bands.items()}
    total_ns = sum(ordered)
    return Operation(
        name=name,
        traces=len(ordered),
        total_ns=total_ns,
        parts_ns=sums["mean"],
        latency_ms={
            "mean": total_ns / len(ordered) / NS_PER_MS,
            "p50": quantile(ordered, 0.5) / NS_PER_MS,
            "p99": quantile(ordered, 0.99) / NS_PER_MS,
        },
        budget_ms={
            band: {part: ns / len(bands[band]) / NS_PER_MS for part, ns in own.items()} for band, own in sums.items()
        },
        exemplars={"p50": nearest_trace(totals, 0.5), "p99": nearest_trace(totals, 0.99)},
        after_ms=sum(one.after_ns for one in budgets.values()) / len(ordered) / NS_PER_MS,
    )


def _sums(budgets: Iterable[Budget]) -> dict[str, int]:
    """Adds up nanoseconds by part, the largest first; parts without any time are left out."""
    sums: Counter[str] = Counter()
    for one in budgets:
        sums.update(one.parts)
    return dict(sorted(((part, ns) for part, ns in sums.items() if ns), key=lambda item: (-item[1], item[0])))
