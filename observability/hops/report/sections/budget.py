"""Hop budgets compared: where the wait goes in each topology, at the median and in the tail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from hops.budget.bands import BANDS
from hops.budget.groups import GROUPS
from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Fold, Section, Text
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.report.chart import WIDTH, Spec, draw
from hops.report.encodings import amount, label, row_each, stack
from hops.report.facts import http_fact
from hops.report.palette import group_fill, group_key
from hops.report.sections.differences import difference_elements
from hops.report.sections.flames import flame_elements
from hops.report.view import View
from hops.tables.budget import MEAN, SLOWEST, band_name, budget_elements, by_group, used_groups
from hops.tables.net_budget import net_text
from hops.tables.sidecars import sidecar_elements
from hops.units import ALL

BAND_TITLES = {"mean": "mean of all traces", "p50_band": "around the median", "p99_band": "above p99"}
WIDE = 640
"""Width of budget charts that have no other chart next to them, in pixels."""
_CHARTED = ("p50_band", "p99_band")
HTTP3_SENDS_INSIDE = (
    " Over HTTP/3, proxy:edge has the time to encrypt and send the answer; over HTTP/1.1 and HTTP/2 that is part of "
    "wire:client→edge. Between versions, compare the sum of the two."
)


def section(view: View) -> Section:
    """Makes the section on hop budgets."""
    traced = [name for name in view.journeys_and_all if any(cell["traces"] for _, cell in view.cells(name))]
    if not traced:
        return Section("budgets", "Where the wait goes", [Text("No journey was traced, so there are no hop budgets.")])
    elements: list[Element] = [
        Text(
            "A hop budget splits the time that a customer waited into parts along the critical path; the parts of "
            "each trace add up to its whole, to the nanosecond. Percentiles do not add up, so each bar is the mean of "
            "all traces, or of those in a band: around the median, and above p99. Each band has its own scale."
            + (HTTP3_SENDS_INSIDE if http_fact(view) else "")
        ),
        Figures(
            [mean_chart(view), *(chart for journey in traced if (chart := budget_chart(view, journey)))],
            group_key(used_groups(view)),
        ),
        groups_table(view, [ALL], (MEAN,), "budget_groups_all"),
        Fold("Flame graphs: the mean trace by call path", flame_elements(view)),
        Fold("The budgets by group, journey by journey", [groups_table(view, traced, BANDS, "budget_groups")]),
        Fold(
            "Every part of every budget",
            [*filter(None, [net_text(view)]), *(one for journey in traced for one in budget_elements(view, journey))],
        ),
        *sidecar_elements(view),
    ]
    if view.pairs():
        elements.append(Fold(f"Why two {view.compared.many} differ", difference_elements(view), opened=True))
    return Section("budgets", "Where the wait goes", elements)


def mean_figures(view: View) -> Figures | None:
    """Draws the mean hop budgets of the whole mix, with their legend; None if nothing was traced."""
    if not any(cell["traces"] for _, cell in view.cells(ALL)):
        return None
    return Figures(
        [mean_chart(view, WIDE)],
        group_key(used_groups(view)),
        "Where the wait goes: the mean of all traced journeys, by parts along the critical path.",
        wide=True,
        narrow=[mean_chart(view)],
    )


def groups_table(view: View, journeys: Sequence[str], bands: Sequence[str], key: str) -> Table:
    """Lists budgets by group, with a row per journey, topology and band."""
    groups = used_groups(view)
    columns = [Column(name, numeric=False) for name in ("journey", view.compared.one, "band")]
    columns += [Column("traces"), *(Column(group, "ms") for group in groups), Column("adds up to", "ms")]
    rows: list[list[Cell]] = []
    for journey in journeys:
        for name, cell in view.cells(journey):
            for band in bands:
                sums = by_group(cell["budget_ms"].get(band, {}))
                rows.append(
                    [
                        words(journey),
                        view.name(name),
                        words(_band_title(band, [cell["traces"]])),
                        whole(cell["traces"]),
                        *(number(sums.get(group, 0.0)) for group in groups),
                        number(sum(sums.values())),
                    ]
                )
    caption = "Hop budgets by group of parts, ms; “traces” counts all traces of the journey"
    return Table(key, view.mark_caption(caption), columns, rows, heads=3)


def _band_title(band: str, traces: Iterable[int]) -> str:
    """Names a band of topologies with so many traces each: `above p99`, or `above p99 or slowest trace` if mixed."""
    titles = {SLOWEST if band_name(band, count) == SLOWEST else BAND_TITLES[band] for count in traces}
    return " or ".join(sorted(titles))


def mean_chart(view: View, width: int = WIDTH) -> Chart:
    """Draws stacked bars of all journeys together, with a row per topology, on one scale."""
    budgets = _of_band(view, ALL, MEAN)
    spec, rows, described = stacked_bars(budgets, view.topologies, title=BAND_TITLES[MEAN], width=width)
    return draw("The whole mix", f"Mean hop budgets of all journeys: {described}; parts in the table.", spec, rows)


def budget_chart(view: View, journey: str) -> Chart | None:
    """Draws stacked bars of one journey for each of two bands, with a row per topology; None without traces."""
    drawn: list[Chart] = []
    for band in _CHARTED:
        title = _band_title(band, [cell["traces"] for _, cell in view.cells(journey) if cell["traces"]])
        spec, rows, sums = stacked_bars(_of_band(view, journey, band), view.topologies, title=title)
        if rows:
            title = f"{journey}, {title}"
            drawn.append(draw(title, f"Hop budgets of {title}: {sums}; parts in the table.", spec, rows))
    described = " ".join(chart.description for chart in drawn)
    return Chart(journey, described, lambda: Markup("").join(chart.svg for chart in drawn)) if drawn else None


def _of_band(view: View, journey: str, band: str) -> dict[str, dict[str, float]]:
    return {name: cell["budget_ms"].get(band, {}) for name, cell in view.cells(journey)}


def stacked_bars(
    budgets: Mapping[str, Mapping[str, float]], names: Sequence[str], **spec: Any
) -> tuple[Spec, list[dict[str, Any]], str]:
    """Makes a chart with a row for each name and a bar for its budget by group, its data, and its sums in words."""
    rows: list[dict[str, Any]] = []
    sums: dict[str, float] = {}
    for name, budget in budgets.items():
        groups = by_group(budget)
        sums[name] = sum(groups.values())
        of_all = {"topology": name, "sum": sums[name], "text": numbers.plain(sums[name])}
        rows += [{**of_all, "group": group, "ms": ms, "order": GROUPS.index(group)} for group, ms in groups.items()]
    top = max(sums.values(), default=1.0) or 1.0
    x = amount("ms", "ms", scale={"domain": [0, top * 1.17], "nice": False}, stacked=True, tickCount=4)
    totals = {"aggregate": [], "groupby": ["topology", "sum", "text"]}
    chart: Spec = {
        "height": {"step": 24},
        "encoding": {"y": row_each("topology", names)},
        "layer": [
            stack("bar", x, GROUPS, [group_fill(group) for group in GROUPS]),
            {**label({"x": amount("sum")}), "transform": [totals]},
        ],
    }
    return chart | spec, rows, "; ".join(f"{name} {numbers.plain(total)} ms" for name, total in sums.items())
