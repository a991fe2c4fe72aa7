"""Where the time of a journey went: every part of its hop budgets, and of the budget of one trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from hops.budget.bands import BANDS
from hops.budget.groups import GROUPS, group_of
from hops.budget.parts import UNATTRIBUTED
from hops.conclusions.wording import plural
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, number, words
from hops.run.documents.topology import JourneySummary
from hops.tables.net_budget import net_of
from hops.tables.view import SummaryView
from hops.units import NS_PER_MS

MEAN, P99_BAND = "mean", "p99_band"
MIN_OF_A_TAIL = 100
SLOWEST = "slowest trace"


def budget_elements(view: SummaryView, journey: str, *, min_share: float = 0.0) -> list[Element]:
    """Shows a journey's budgets, and that parts add up; small parts share a row, unattributed time not."""
    traced = [(name, cell) for name, cell in view.cells(journey) if cell["traces"]]
    if not traced:
        return [Text(view.mark_caption(f"Hop budget of {journey}: no traces."))]
    sums = " ".join(_sums_text(name, cell) for name, cell in traced)
    return [parts_table(view, journey, min_share=min_share), Text(sums)]


def _sums_text(name: str, cell: JourneySummary) -> str:
    # Each mean times the number of traces is a whole number of ns.
    parts_ns = sum(round(ms * cell["traces"] * NS_PER_MS) for ms in cell["budget_ms"][MEAN].values())
    traced_ns = round((cell["traced_mean_ms"] or 0.0) * cell["traces"] * NS_PER_MS)
    text = (
        f"{name}: the parts of its {plural(cell['traces'], 'trace')} add up to {parts_ns:,} ns, the latencies of these "
        f"journeys to {traced_ns:,} ns."
    )
    net = net_of(cell)
    if net is None:
        return text
    return f"{text} Net of {net.tracing_ms:.6f} ms of tracing: {sum(net.ms.values()):.6f} ms."


def used_groups(view: SummaryView) -> list[str]:
    """Lists the groups that occur in any budget, in the order in which a journey passes them."""
    used = {
        group_of(part)
        for name in view.journeys_and_all
        for _, cell in view.cells(name)
        for band in cell["budget_ms"].values()
        for part in band
    }
    return [group for group in GROUPS if group in used]


def by_group(parts: Mapping[str, float]) -> dict[str, float]:
    """Adds up the parts of a budget by group, in the order of the groups."""
    sums = dict.fromkeys(GROUPS, 0.0)
    for part, value in parts.items():
        sums[group_of(part)] += value
    return {group: value for group, value in sums.items() if value}


def band_name(band: str, traces: int) -> str:
    """Names a band; with up to a hundred traces, only one trace is above p99: an anecdote, not a tail."""
    return SLOWEST if band == P99_BAND and traces <= MIN_OF_A_TAIL else band.replace("_", " ")


def journey_groups_table(view: SummaryView, journey: str) -> Table:
    """Lists one journey's budgets by group, with a column per topology and band."""
    budgets = [
        (name, band_name(band, cell["traces"]), by_group(cell["budget_ms"].get(band, {})))
        for name, cell in view.cells(journey)
        if cell["traces"]
        for band in BANDS
    ]
    columns = [Column("group", numeric=False)]
    columns += [Column(f"{name}, {band}", "ms") for name, band, _ in budgets]
    rows = [
        [words(group), *(parts_cell(budget, [group], bar=band == MEAN) for _, band, budget in budgets)]
        for group in used_groups(view)
        if any(group in budget for _, _, budget in budgets)
    ]
    rows.append([words("adds up to"), *(number(sum(budget.values())) for _, _, budget in budgets)])
    caption = view.mark_caption(f"Hop budgets of {journey} by group of parts, ms")
    return Table(f"budget_groups_{journey}", caption, columns, rows, totals=1)


def parts_table(view: SummaryView, journey: str, *, min_share: float = 0.0) -> Table:
    """Lists every part of one journey's budgets, largest first, by topology and band; and means net of tracing."""
    budgets = [budget for name, cell in view.cells(journey) if cell["traces"] for budget in _budgets(name, cell)]
    means = [cell["budget_ms"].get(MEAN, {}) for _, cell in view.cells(journey) if cell["traces"]]
    shares = {part: max(share_of(part, mean) for mean in means) for budget in budgets for part in budget.ms}
    parts = sorted(shares, key=lambda part: (-shares[part], part))
    small = [part for part in parts if shares[part] < min_share and part != UNATTRIBUTED]
    caption = view.mark_caption(f"Parts of the hop budgets of {journey}, ms")
    return budgets_table(f"budget_parts_{journey}", caption, parts, small, budgets)


class BudgetColumn(NamedTuple):
    """A column of the table of parts: ms by part, and the parts whose net time is not known."""

    column: Column
    ms: Mapping[str, float]
    not_known: Set[str] = frozenset()
    bars: bool = False

    def cell(self, parts: list[str]) -> Cell:
        present = self.ms.keys() & parts
        if present and present <= self.not_known:
            return Cell("not known")
        return parts_cell(self.ms, parts, bar=self.bars)


def budgets_table(
    key: str, caption: str, parts: Sequence[str], small: list[str], budgets: Sequence[BudgetColumn]
) -> Table:
    """Lists parts in this order, with a column per budget; several small parts share a row."""
    rows = [
        [words(part), words(group_of(part)), *(one.cell([part]) for one in budgets)]
        for part in parts
        if len(small) < 2 or part not in small
    ]
    if len(small) > 1:
        rows.append([words(f"{len(small)} smaller parts"), words(""), *(one.cell(small) for one in budgets)])
    rows.append([words("adds up to"), words(""), *(number(sum(one.ms.values())) for one in budgets)])
    columns = [Column("part", numeric=False), Column("group", numeric=False, spare=1), *(one.column for one in budgets)]
    return Table(key, caption, columns, rows, totals=1)


def _budgets(name: str, cell: JourneySummary) -> Iterator[BudgetColumn]:
    for band in BANDS:
        budget = cell["budget_ms"].get(band, {})
        column = Column(f"{name}, {band_name(band, cell['traces'])}", "ms")
        yield BudgetColumn(column, budget, bars=band == MEAN)
        if band == MEAN and (net := net_of(cell)) is not None:
            yield BudgetColumn(Column(f"{name}, net of tracing (estimate)", "ms", spare=2), net.ms, net.not_known)


def parts_cell(budget: Mapping[str, float], parts: list[str], *, bar: bool) -> Cell:
    """Formats the total time of some parts; on request, with a bar for its share of the budget."""
    present = [budget[part] for part in parts if part in budget]
    if not present:
        return Cell(numbers.NOTHING)
    total = sum(budget.values())
    value = sum(present)
    return number(value, share=value / total if bar and total else None)


def share_of(part: str, budget: Mapping[str, float]) -> float:
    """Computes the share of a part of a budget, 0 to 1."""
    total = sum(budget.values())
    return budget.get(part, 0.0) / total if total else 0.0
