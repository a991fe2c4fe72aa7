"""What each step of a ladder adds, measured twice, and what a pair of sidecars adds to a call."""

from __future__ import annotations

from collections.abc import Callable

from hops.elements.element import Element, Figures, Fold, Heading, Points, Section, Text
from hops.elements.table import Cell, Column, Table, estimate, number, table_of, texts, whole, words
from hops.kinds.ladder.arms import CLUSTER, CLUSTER_ISTIO, EDGE, ISTIO, MTLS, SIDECARS
from hops.kinds.ladder.charts import ladder_chart
from hops.kinds.ladder.conclusions import ladder_sentences, row_of
from hops.kinds.ladder.document import Added, Ladder, LadderRow, LadderStep, SidecarPair, ladder_of
from hops.tables.estimate import agreement_cell, estimate_cell
from hops.tables.view import SummaryView
from hops.units import ALL

TARGET_P99_MS = {SIDECARS: 0.5, MTLS: 0.7, ISTIO: 0.7, CLUSTER_ISTIO: 0.7}
"""Maximum that a pair of sidecars should add to the p99 of a call at the default rate, ms."""
PUBLISHED_P99_MS = {MTLS: 0.298, ISTIO: 0.298, CLUSTER_ISTIO: 0.298}
"""What two sidecars with mutual TLS add to p99, ms: "Performance and Scalability" on istio.io, release 1.20."""
ABOUT_PUBLISHED = (
    "Istio's own benchmark gives 0.23 ms at p90 and 0.30 ms at p99 for two sidecars with mutual TLS, and no figure "
    "without it. It is of release 1.20, with HTTP/1.1, 1 kB of payload and 1,000 requests a second, on other hardware."
)


def section(view: SummaryView) -> Section:
    """Makes the first section of the report: what each step adds to the mean of all journeys; details in folds."""
    ladder = ladder_of(view.summary)
    pairs: list[Element] = [
        Heading("What a pair of sidecars adds"),
        Text(
            "A call spends time between its caller's span and its callee's: on the wire, or with sidecars on three "
            f"wires and in two proxies. Added is this time minus the time in the arm {EDGE}, or in {CLUSTER} for "
            f"{CLUSTER_ISTIO}. {ABOUT_PUBLISHED}"
        ),
        pairs_table(ladder),
    ]
    links: list[Element] = [Fold("What a pair of sidecars adds, link by link", [links_table(ladder)])]
    elements: list[Element] = [
        Text(
            "Each step compares two arms that differ in one thing; Istio is compared with the same sidecars under a "
            "static configuration. Measured is the difference between their mean latencies by the generator's clock, "
            "over untraced journeys. Attributed is the difference between the parts of their hop budgets that belong "
            "to the step, over traced journeys. So the two have no journey in common. They agree if the 95 % interval "
            "of the remainder, measured minus attributed, includes 0. Its ends say how large a disagreement this "
            "experiment could have missed. For tracing itself, measured is over all journeys. Attributed is what being "
            "traced adds to a journey, times the share of traced journeys, in the upper arm minus the lower."
        ),
        Points(ladder_sentences(ladder), tone="sentences"),
        Figures([ladder_chart(ladder)], wide=True, text="Filled: measured. Hollow: attributed. 95 % intervals."),
        steps_table(ladder),
        *(pairs if ladder["sidecar_pairs"] else []),
        Fold("Each step in each journey", [journeys_table(ladder)]),
        Fold("How the parts that do not belong to the step changed", [groups_table(ladder)]),
        *(links if ladder["sidecar_pairs"] else []),
    ]
    return Section("ladder", "What each step adds", elements)


def steps_table(ladder: Ladder) -> Table:
    """Makes a table with a row per step, for all journeys together."""
    return table_of(
        "ladder",
        "What each step adds to the mean latency of all journeys, ms, with 95 % intervals",
        [(step, row) for step in ladder["steps"] if (row := row_of(step)) is not None],
        [
            _STEP,
            (Column("without", numeric=False, spare=2), lambda one: words(one[0]["lower"])),
            (Column("with", numeric=False, spare=2), lambda one: words(one[0]["upper"])),
            *_FIGURES,
        ],
    )


def journeys_table(ladder: Ladder) -> Table:
    """Makes a table with a row per step and journey."""
    return table_of(
        "ladder_journeys",
        "What each step adds to the mean latency of each journey, ms, with 95 % intervals",
        [(step, row) for step in ladder["steps"] for row in step["rows"]],
        [
            _STEP,
            (Column("journey", numeric=False), lambda one: words(one[1]["journey"])),
            (Column("journeys, without"), lambda one: whole(one[1]["journeys"][0])),
            (Column("journeys, with"), lambda one: whole(one[1]["journeys"][1])),
            (Column("traces, without"), lambda one: whole(one[1]["traces"][0])),
            (Column("traces, with"), lambda one: whole(one[1]["traces"][1])),
            *_FIGURES,
        ],
        heads=2,
    )


def groups_table(ladder: Ladder) -> Table:
    """Makes a table with a row per step and group of parts that do not belong to the step."""
    columns = [Column("step", numeric=False), Column("group", numeric=False), Column("changed by", "ms", interval=True)]
    rows = [
        [words(step["adds"]), words(group["group"]), estimate_cell(group, signed=True)]
        for step in ladder["steps"]
        if (row := row_of(step)) is not None
        for group in row["groups"]
    ]
    caption = "Parts that do not belong to the step, by group, all journeys, ms, with 95 % intervals"
    return Table("ladder_elsewhere", caption, columns, rows, heads=2)


def pairs_table(ladder: Ladder) -> Table:
    """Makes a table with a row per arm with sidecars, over all links."""
    return table_of(
        "sidecar_pairs",
        "What a pair of sidecars adds to a call, with 95 % intervals",
        [pair for pair in ladder["sidecar_pairs"] if pair["link"] == ALL],
        [
            *texts("arm"),
            *_ADDED,
            (Column("target p99", "ms"), lambda pair: number(TARGET_P99_MS[pair["arm"]])),
            (Column("met", numeric=False), lambda pair: words(_met(pair["p99"], TARGET_P99_MS[pair["arm"]]))),
            (Column("Istio's own p99", "ms"), lambda pair: number(PUBLISHED_P99_MS.get(pair["arm"]))),
        ],
    )


def links_table(ladder: Ladder) -> Table:
    """Makes a table with a row per arm with sidecars and link."""
    return table_of(
        "sidecar_pairs_links",
        "What a pair of sidecars adds to a call of each link, with 95 % intervals",
        [pair for pair in ladder["sidecar_pairs"] if pair["link"] != ALL],
        [*texts("arm", "link"), *_ADDED],
        heads=2,
    )


_Rows = Callable[[tuple[LadderStep, LadderRow]], Cell]
_STEP: tuple[Column, _Rows] = (Column("step", numeric=False), lambda one: words(one[0]["adds"]))
_FIGURES: list[tuple[Column, _Rows]] = [
    (Column("measured", "ms", interval=True), lambda one: estimate_cell(one[1]["measured"], signed=True)),
    (Column("attributed", "ms", interval=True), lambda one: estimate_cell(one[1]["attributed"], signed=True)),
    (Column("remainder", "ms", interval=True), lambda one: estimate_cell(one[1]["remainder"], signed=True)),
    (Column("verdict", numeric=False), lambda one: agreement_cell(one[1]["verdict"], one[1]["reason"])),
    (
        Column("elsewhere", "ms", interval=True, spare=1),
        lambda one: estimate_cell(one[1]["elsewhere"] if one[1]["groups"] else None, signed=True),
    ),
]
"""Columns made from a step and one of its rows."""
_ADDED: list[tuple[Column, Callable[[SidecarPair], Cell]]] = [
    (Column("calls without", spare=1), lambda pair: whole(pair["calls"][0])),
    (Column("calls with", spare=1), lambda pair: whole(pair["calls"][1])),
    (
        Column("mean added", "ms", interval=True),
        lambda pair: estimate(pair["mean"]["value"], pair["mean"]["ci95"], signed=True),
    ),
    (
        Column("p99 added", "ms", interval=True),
        lambda pair: estimate(pair["p99"]["value"], pair["p99"]["ci95"], signed=True),
    ),
]


def _met(p99: Added, target_ms: float) -> str:
    """Says on which side of the target the whole interval is."""
    low, high = p99["ci95"]
    if low is None or high is None:
        return "unknown"
    return "yes" if high <= target_ms else "no" if low > target_ms else "undecided"
