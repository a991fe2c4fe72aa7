"""What each step of a ladder adds, measured twice, and what a pair of sidecars adds to a call."""

from __future__ import annotations

from collections.abc import Iterable

from hops.elements import numbers
from hops.elements.element import Element, Fold, Heading, Points, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.kinds.ladder.arms import CLUSTER, CLUSTER_ISTIO, EDGE, ISTIO, MTLS, SIDECARS
from hops.kinds.ladder.conclusions import ladder_sentences, row_of
from hops.kinds.ladder.document import Added, Ladder, LadderRow, LadderStep, SidecarPair
from hops.run.documents.estimate import Estimate
from hops.units import ALL

TARGET_P99_MS = {SIDECARS: 0.5, MTLS: 0.7, ISTIO: 0.7, CLUSTER_ISTIO: 0.7}
"""What a pair of sidecars may add to the p99 of a call at the default rate, ms."""
PUBLISHED_P99_MS = {MTLS: 0.298, ISTIO: 0.298, CLUSTER_ISTIO: 0.298}
"""What two sidecars with mutual TLS add to p99, ms: "Performance and Scalability" on istio.io, release 1.20."""
ABOUT_PUBLISHED = (
    "Istio's own benchmark gives 0.23 ms at p90 and 0.30 ms at p99 for two sidecars with mutual TLS, and nothing for "
    "two without (release 1.20; HTTP/1.1, 1 kB of payload, 1,000 requests a second, on other hardware)."
)


def ladder_elements(ladder: Ladder) -> list[Element]:
    """What each step adds to the mean of all journeys, and what sidecars add to a call."""
    elements: list[Element] = [
        Text(
            "Each step compares two arms that differ in one thing; Istio is compared with the same sidecars under a "
            "static configuration. Measured is the difference between their mean "
            "latencies by the generator's clock, from journeys that were not traced. Attributed is the difference "
            "between those parts of their hop budgets that belong to the step, from the journeys that were. The two "
            "have no journey in common. They agree if the 95 % interval of the remainder, measured minus attributed, "
            "includes 0; its ends say how large a disagreement this experiment could have missed. For tracing itself, "
            "measured is from all journeys, and attributed is what being traced adds to a journey, times the share of "
            "journeys that are traced, in the upper arm less the lower."
        ),
        Points(ladder_sentences(ladder), tone="sentences"),
        steps_table(ladder),
    ]
    if ladder["sidecar_pairs"]:
        elements += [
            Heading("What a pair of sidecars adds"),
            Text(
                "A call spends time between its caller's span and its callee's: on the wire, or with sidecars on three "
                f"wires and in two proxies. Added is this time less that in the arm {EDGE}; for {CLUSTER_ISTIO}, less "
                f"that in {CLUSTER}. {ABOUT_PUBLISHED}"
            ),
            pairs_table(ladder),
        ]
    return elements


def ladder_details(ladder: Ladder) -> list[Element]:
    """The same by journey, by group of parts, and by link."""
    elements: list[Element] = [
        Fold("Each step in each journey", [journeys_table(ladder)]),
        Fold("What the parts did that do not belong to the step", [groups_table(ladder)]),
    ]
    if ladder["sidecar_pairs"]:
        elements.append(Fold("What a pair of sidecars adds, link by link", [links_table(ladder)]))
    return elements


def steps_table(ladder: Ladder) -> Table:
    """A row per step, of all journeys together."""
    columns = [Column("step", numeric=False), *_arms(), *_figures()]
    rows = [
        [words(step["adds"]), *_arm_cells(step), *_cells(row)]
        for step in ladder["steps"]
        if (row := row_of(step)) is not None
    ]
    caption = "What each step adds to the mean latency of all journeys, ms, with 95 % intervals"
    return Table("ladder", caption, columns, rows)


def journeys_table(ladder: Ladder) -> Table:
    """A row per step and journey."""
    columns = [
        Column("step", numeric=False),
        Column("journey", numeric=False),
        Column("journeys, without"),
        Column("journeys, with"),
        Column("traces, without"),
        Column("traces, with"),
        *_figures(),
    ]
    rows = [
        [words(step["adds"]), words(row["journey"]), *map(whole, (*row["journeys"], *row["traces"])), *_cells(row)]
        for step in ladder["steps"]
        for row in step["rows"]
    ]
    caption = "What each step adds to the mean latency of each journey, ms, with 95 % intervals"
    return Table("ladder_journeys", caption, columns, rows, heads=2)


def groups_table(ladder: Ladder) -> Table:
    """A row per step and group of parts that do not belong to it."""
    columns = [Column("step", numeric=False), Column("group", numeric=False), Column("changed by", "ms", interval=True)]
    rows = [
        [words(step["adds"]), words(group["group"]), _estimate(group)]
        for step in ladder["steps"]
        if (row := row_of(step)) is not None
        for group in row["groups"]
    ]
    caption = "Parts that do not belong to the step, by group, all journeys, ms, with 95 % intervals"
    return Table("ladder_elsewhere", caption, columns, rows, heads=2)


def pairs_table(ladder: Ladder) -> Table:
    """A row per arm with sidecars, over all links."""
    columns = [
        Column("arm", numeric=False),
        *_added(),
        Column("target p99", "ms"),
        Column("met", numeric=False),
        Column("Istio's own p99", "ms"),
    ]
    rows = [
        [
            words(pair["arm"]),
            *_added_cells(pair),
            number(TARGET_P99_MS[pair["arm"]]),
            words(_met(pair["p99"], TARGET_P99_MS[pair["arm"]])),
            number(PUBLISHED_P99_MS.get(pair["arm"])),
        ]
        for pair in ladder["sidecar_pairs"]
        if pair["link"] == ALL
    ]
    return Table("sidecar_pairs", "What a pair of sidecars adds to a call, with 95 % intervals", columns, rows)


def links_table(ladder: Ladder) -> Table:
    """A row per arm with sidecars and link."""
    columns = [Column("arm", numeric=False), Column("link", numeric=False), *_added()]
    rows = [
        [words(pair["arm"]), words(pair["link"]), *_added_cells(pair)]
        for pair in ladder["sidecar_pairs"]
        if pair["link"] != ALL
    ]
    caption = "What a pair of sidecars adds to a call of each link, with 95 % intervals"
    return Table("sidecar_pairs_links", caption, columns, rows, heads=2)


def _arms() -> Iterable[Column]:
    return Column("without", numeric=False, spare=2), Column("with", numeric=False, spare=2)


def _arm_cells(step: LadderStep) -> Iterable[Cell]:
    return words(step["lower"]), words(step["upper"])


def _figures() -> Iterable[Column]:
    names = ("measured", "attributed", "remainder")
    return (
        *(Column(name, "ms", interval=True) for name in names),
        Column("verdict", numeric=False),
        Column("elsewhere", "ms", interval=True, spare=1),
    )


def _cells(row: LadderRow) -> Iterable[Cell]:
    verdict = Cell(
        row["verdict"],
        row["verdict"],
        tone="bad" if row["verdict"] == "differ" else "",
        note=row["reason"] or "",
    )
    return (
        *(_estimate(row[name]) for name in ("measured", "attributed", "remainder")),
        verdict,
        _estimate(row["elsewhere"]) if row["groups"] else estimate(None, numbers.UNKNOWN),
    )


def _estimate(one: Estimate) -> Cell:
    return estimate(one["value"], one["ci95"], signed=True)


def _added() -> Iterable[Column]:
    return (
        Column("calls without", spare=1),
        Column("calls with", spare=1),
        Column("mean added", "ms", interval=True),
        Column("p99 added", "ms", interval=True),
    )


def _added_cells(pair: SidecarPair) -> Iterable[Cell]:
    return (
        *map(whole, pair["calls"]),
        *(estimate(one["value"], one["ci95"], signed=True) for one in (pair["mean"], pair["p99"])),
    )


def _met(p99: Added, target_ms: float) -> str:
    """Whether the whole interval is on one side of the target."""
    low, high = p99["ci95"]
    if low is None or high is None:
        return "unknown"
    return "yes" if high <= target_ms else "no" if low > target_ms else "undecided"
