"""Latency of each journey: percentiles with their intervals, and the comparisons between topologies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hops.conclusions.wording import join_names, loop_text, not_tested, plural
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, estimate, number, table_of, texts, whole, words
from hops.run.documents.difference import Comparison, Tested
from hops.run.documents.topology import JourneySummary
from hops.tables.view import SummaryView
from hops.units import ALL

COLUMNS = {"mean": 3, "p50": 0, "p90": 1, "p95": 4, "p99": 0, "p99_9": 5}
"""The columns, and the order in which a narrow terminal drops them: the highest number first; 0 stays."""
SHOWN_METRICS = ("p50", "p99")
MAX_SHOWN = 12
"""Metrics whose differences the terminal shows, and the maximum number of rows for each; the report has all."""
_VERDICTS = {"left_lower": "left lower", "right_lower": "right lower"}


def latency_text(view: SummaryView) -> Text:
    """Describes from which moment latency is measured, and what a closed loop means for it."""
    closed = view.summary["closed"]
    failed = "Failed journeys are counted but excluded from the percentiles."
    if closed is None:
        return Text(
            "Latency counts from the intended arrival to the checked answer, so a slow system cannot hide by delaying "
            f"its load. {failed}"
        )
    return Text(
        f"CLOSED LOOP: {loop_text(closed)}. Latency counts from the actual start, and a slow {view.compared.system} "
        f"gets less load: these latencies cannot be compared with those of an open loop. {failed}",
        tone="notice",
    )


def latency_table(view: SummaryView) -> Table:
    """Makes a table with a row per journey and topology."""
    columns = [Column("journey", numeric=False), view.topology_column, Column("count", spare=2)]
    columns += [Column(name.replace("_", "."), "ms", interval=True, spare=spare) for name, spare in COLUMNS.items()]
    columns += [Column("max", "ms", spare=5), Column("failed")]
    rows = [
        [words(journey), view.name(name), whole(cell["count"]), *_percentiles(cell)]
        for journey in view.journeys_and_all
        for name, cell in view.cells(journey)
    ]
    caption = view.mark_caption(f"Latency by journey and {view.compared.one}, ms, with 95 % intervals")
    return Table("latency", caption, columns, rows, heads=2)


def comparison_table(view: SummaryView) -> Table:
    """Lists every comparison of the summary."""
    return _comparisons(view, "comparisons", "All comparisons", view.summary["comparisons"])


def shown_differences(view: SummaryView) -> list[Element]:
    """Shows the significant differences in a table per metric, largest ratio first; then what was not tested."""
    every = [row for row in view.summary["comparisons"] if row["metric"] in SHOWN_METRICS and row["journey"] != ALL]
    significant = sorted((row for row in every if row["verdict"] in _VERDICTS), key=_ratio, reverse=True)
    tested = [row for row in every if row["verdict"] != "unknown"]
    elements: list[Element] = []
    kept = 0
    for metric in SHOWN_METRICS:
        rows = [row for row in significant if row["metric"] == metric][:MAX_SHOWN]
        kept += len(rows)
        if rows:
            caption = f"Significant differences at {metric}, largest ratios first"
            elements.append(_comparisons(view, f"shown_{metric}", caption, rows))
    metrics = [metric for metric in SHOWN_METRICS if any(row["metric"] == metric for row in tested)]
    if significant:
        most = f", the largest {kept} above; all are in the report." if kept < len(significant) else "."
        counts = f"{len(significant)} of {len(tested)}"
        elements.append(Text(f"{counts} tested differences at {join_names(metrics)} are significant{most}"))
    elif tested:
        elements.append(Text(f"No significant differences at {join_names(metrics, 'or')}."))
    return [*elements, *map(Text, _note_untested(every))]


def _note_untested(rows: Sequence[Comparison]) -> list[str]:
    """Writes `Differences at p50 were not tested: needs 3 blocks, and there are 2.`; empty if all were tested."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for metric in SHOWN_METRICS:
        of_metric = [row for row in rows if row["metric"] == metric]
        untested = [row["reason"] for row in of_metric if row["verdict"] == "unknown"]
        if untested:
            all_of_them = len(untested) == len(of_metric)
            what = "Differences" if all_of_them else f"{len(untested):,} of {plural(len(of_metric), 'difference')}"
            metrics.setdefault((what, not_tested(untested)), []).append(metric)
    return [f"{what} at {join_names(names)} were {why}." for (what, why), names in metrics.items()]


def metric_name(metric: str) -> str:
    """Names a metric for people."""
    return metric.replace("_", ".").replace("cpu.ms", "CPU ms")


def contrast_columns(
    one: str, other: str, unit: str = "", spare: tuple[int, int] = (0, 0)
) -> list[tuple[Column, Callable[[Tested], Cell]]]:
    """Makes columns for `table_of` about a tested difference and its ratio.

    Args:
        spare: `Column.spare` of the corrected p value, and of the smallest difference that would have been shown.
    """
    of_p, of_visible = spare
    return [
        (
            Column(f"{one} minus {other}", unit, interval=True),
            lambda row: estimate(row["difference"], row["ci95"], signed=True),
        ),
        (Column(f"{one} / {other}", interval=True), lambda row: estimate(row["ratio"], row["ratio_ci95"])),
        (Column("p, corrected", spare=of_p), lambda row: Cell(numbers.chance(row["p_corrected"]), row["p_corrected"])),
        (
            Column("visible", "%", spare=of_visible),
            lambda row: number(None if (ratio := row["visible_ratio"]) is None else 100 * (ratio - 1)),
        ),
    ]


def _comparisons(view: SummaryView, key: str, title: str, comparisons: Sequence[Comparison]) -> Table:
    caption = (
        f"{title}, latencies in ms; visible: the smallest difference that this run would have shown with 80 % power; "
        f"effect: the probability that a journey of the left {view.compared.one} is faster"
    )
    return table_of(
        key,
        view.mark_caption(caption),
        comparisons,
        [
            *texts("journey"),
            (Column("metric", numeric=False, spare=5), lambda row: words(metric_name(row["metric"]))),
            *texts("left", "right"),
            (Column("left value", spare=4), lambda row: number(row["left_value"])),
            (Column("right value", spare=4), lambda row: number(row["right_value"])),
            *contrast_columns("left", "right"),
            (Column("effect", spare=2), lambda row: number(row["effect"])),
            (
                Column("verdict", numeric=False, spare=3),
                lambda row: Cell(row["verdict"].replace("_", " "), row["verdict"], note=row["reason"] or ""),
            ),
        ],
        heads=4,
    )


def _percentiles(cell: JourneySummary) -> list[Cell]:
    return [*(percentile(cell, name) for name in COLUMNS), number(cell["latency_ms"].get("max")), _failure_cell(cell)]


def percentile(cell: JourneySummary, name: str) -> Cell:
    """Formats a percentile or the mean of a journey's latency, with its interval."""
    return estimate(cell["latency_ms"].get(name), cell["latency_ci95"].get(name) or numbers.UNKNOWN)


def _failure_cell(cell: JourneySummary) -> Cell:
    some = {name: count for name, count in cell["errors"].items() if count}
    note = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in some.items())
    return Cell(f"{sum(some.values()):,}", sum(some.values()), tone="bad" if some else "", note=note)


def _ratio(row: Comparison) -> float:
    ratio = row["ratio"]
    return max(ratio, 1 / ratio) if ratio else 0.0
