"""Tables of two compared runs: which runs, how they differ, what is shown, and the verdict on a threshold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group

from hops.conclusions.notes import visible_range
from hops.conclusions.wording import join_names, mark_lines, negate_interval, not_tested, plural
from hops.elements import numbers
from hops.elements.element import Element, Points, Section, Text
from hops.elements.numbers import figure, times
from hops.elements.table import Column, Table, number, table_of, texts, words
from hops.gates.limits import gate_name
from hops.gates.verdict import MEANING
from hops.kinds.two_runs.analysis import RunDifference, RunFacts, RunsComparison, list_watched, regressions
from hops.run.documents.gate import VALID
from hops.tables.latency import contrast_columns, metric_name
from hops.terminal.render import render
from hops.units import ALL

SHOWN_METRICS = ("p50", "p99", "cpu_ms")
"""Metrics on a terminal; Markdown and JSON have all metrics."""
_DAYS = (
    "No interval includes the effect of a run's day: equal code on two days can look different, and more blocks do "
    "not help. Two revisions in the same blocks: make compare-versions a=REV b=REV."
)
_CLOSED = "CLOSED LOOP: latency counts from the actual start, and a slow shop gets less load."


def runs_sections(comparison: RunsComparison, metrics: Sequence[str] | None = None) -> list[Section]:
    """Makes sections about two runs, the shown differences, and each pair's figures; without `metrics`, of all."""
    elements: list[Element] = [Points(headline(comparison))]
    if comparison["differs"]:
        elements.append(table_of("differs", "What differs", comparison["differs"], texts("what", "a", "b")))
    tables = [_table(comparison, name_a, name_b, metrics) for name_a, name_b in _pairs(comparison)]
    what = Text("Times in ms, with 95 % intervals over blocks. “CPU ms” is the CPU time of a journey.")
    return [
        Section("runs", "The runs", elements),
        Section("figures", "Figures", [*tables, what]),
        Section("findings", "Findings", [Points([*findings(comparison), *threshold_lines(comparison)])]),
    ]


def runs_view(comparison: RunsComparison) -> Group:
    """Shows the sections on a terminal, with the main metrics."""
    return render(element for section in runs_sections(comparison, SHOWN_METRICS) for element in section.elements)


def headline(comparison: RunsComparison) -> list[str]:
    """Names the runs, and says whether they can be trusted."""
    sides = (("a", comparison["a"]), ("b", comparison["b"]))
    lines = [_facts(letter, facts) for letter, facts in sides]
    lines += [f"{letter}: {facts['notice']}" for letter, facts in sides if facts["notice"]]
    if comparison["mode"] == "closed":
        lines.append(_CLOSED)
    lines.append("Differences are b minus a, in ms, with 95 % intervals; the blocks of the two runs are independent.")
    lines.append(_DAYS)
    verdict = comparison["verdict"]
    return lines if verdict == VALID else [*lines, f"{verdict}: {MEANING[verdict]}."]


def findings(comparison: RunsComparison) -> list[str]:
    """Describes what is shown, by pair, in sentences."""
    lines = []
    for name_a, name_b in _pairs(comparison):
        of_pair = [row for row in _rows(comparison, name_a, name_b) if row["journey"] != ALL]
        for metric in ("p50", "p99"):
            rows = [row for row in of_pair if row["metric"] == metric]
            tested = [row for row in rows if row["verdict"] != "unknown"]
            untested = [row["reason"] for row in rows if row["verdict"] == "unknown"]
            if not tested:
                lines.append(f"{_pair(name_a, name_b)} at {metric}: {not_tested(untested)}.")
                continue
            texts = [_sentence(row) for row in tested if row["verdict"] in ("higher", "lower")]
            silent = len(tested) - len(texts)
            if silent:
                seen = visible_range(tested)
                texts.append(
                    f"no difference shown for {plural(silent, 'journey')}"
                    + (f", where {seen} would have been seen" if seen else "")
                )
            if untested:
                texts.append(f"{plural(len(untested), 'journey')} {not_tested(untested)}")
            lines.append(f"{_pair(name_a, name_b)} at {metric}: {'; '.join(texts)}.")
    return mark_lines(comparison["verdict"], lines)


def threshold_lines(comparison: RunsComparison) -> list[str]:
    """Describes what the threshold found, and the rule that it applies."""
    share = comparison["threshold"]
    if share is None:
        return []
    limit, looked_at = f"{100 * share:g} %", list_watched(comparison)
    beyond, possible = regressions(comparison, "shown"), regressions(comparison, "possible")
    unknown = regressions(comparison, "unknown")
    lines = [f"SLOWER by more than {limit}: {_describe_row(row)}." for row in beyond]
    lines += [f"Possibly slower by more than {limit}, but not shown: {_describe_row(row)}." for row in possible]
    checked = len(looked_at) - len(unknown)
    lines.append(
        f"Threshold {limit} on {join_names(comparison['metrics'])}: {plural(checked, 'figure')} checked, "
        f"{len(beyond)} beyond it, {len(possible)} possibly, {len(unknown)} with too little data to check."
    )
    return lines


def _table(comparison: RunsComparison, name_a: str, name_b: str, metrics: Sequence[str] | None) -> Table:
    rows = [row for row in _rows(comparison, name_a, name_b) if metrics is None or row["metric"] in metrics]
    return table_of(
        f"runs_{name_a}_{name_b}",
        _pair(name_a, name_b),
        sorted(rows, key=lambda row: row["journey"] == ALL),
        [
            *texts("journey"),
            (Column("metric", numeric=False), lambda row: words(metric_name(row["metric"]))),
            (Column("a"), lambda row: number(row["a"])),
            (Column("b"), lambda row: number(row["b"])),
            *contrast_columns("b", "a", spare=(2, 1)),
            (Column("b is", numeric=False), lambda row: words(_verdict(row))),
        ],
        heads=2,
    )


def _facts(letter: str, facts: RunFacts) -> str:
    why = "; ".join(map(gate_name, facts["reasons"]))
    text = f"{letter}: {facts['name']}, {plural(facts['blocks'], 'block')}, {facts['verdict']}"
    return f"{text}: {why}" if why else text


def _pairs(comparison: RunsComparison) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["topology_a"], row["topology_b"]) for row in comparison["rows"]))


def _rows(comparison: RunsComparison, name_a: str, name_b: str) -> list[RunDifference]:
    return [row for row in comparison["rows"] if (row["topology_a"], row["topology_b"]) == (name_a, name_b)]


def _pair(name_a: str, name_b: str) -> str:
    return name_a if name_a == name_b else f"{name_a} (a) against {name_b} (b)"


def _sentence(row: RunDifference) -> str:
    assert row["difference"] is not None
    ends = row["ci95"]
    if row["verdict"] == "higher":
        return f"b answers {row['journey']} {figure(row['difference'], ends, 'ms')} slower"
    return f"b answers {row['journey']} {figure(-row['difference'], negate_interval(ends), 'ms')} faster"


def _describe_row(row: RunDifference) -> str:
    ratio = times(row["ratio"] or 0.0, row["ratio_ci95"])
    values = f"{numbers.plain(row['a'])} to {numbers.plain(row['b'])} ms, {ratio}"
    what = "all journeys" if row["journey"] == ALL else row["journey"]
    return f"{_pair(row['topology_a'], row['topology_b'])}, {what}, {row['metric']}: {values}"


def _verdict(row: RunDifference) -> str:
    text = row["verdict"].replace("_", " ")
    return f"{text}, beyond the threshold" if row["regression"] == "shown" else text
