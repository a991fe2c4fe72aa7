"""What became slower from version a to version b, in sentences and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hops.conclusions.wording import join_names, mark_lines, negate_interval, not_tested
from hops.elements.element import Element, Points, Section, Text
from hops.elements.numbers import excess, figure, times
from hops.elements.table import Cell, Column, Table, number, table_of, texts
from hops.kinds.compare_versions.analysis import MIN_SHARE, VersionRow, Versions, versions_in
from hops.run.documents.summary import Summary
from hops.tables.latency import contrast_columns
from hops.tables.view import SummaryView

LARGE_MS = 2.0
"""Minimum size of the parts whose smallest visible change is in a sentence."""
MAX_NAMED = 3
"""Maximum number of parts in a title."""


def section(view: SummaryView) -> Section:
    """Makes the first section of the report: which parts became slower, and how small a change was visible."""
    versions = versions_in(view.summary)
    elements: list[Element] = [
        Points(mark_lines(view.summary["verdict"], list(_sentences(versions["rows"]))), tone="conclusions"),
        Points(list(_about(versions)), tone="sentences"),
        _table(versions["rows"]),
        Text(
            "Both versions ran in every block, in random order, on one tape; a slow day slows both. All rows are one "
            "family of tests with Holm's correction: equal versions show any difference in at most 5 % of runs. Parts "
            f"below {100 * MIN_SHARE:g} % of the mean are not tested. “Visible”: the smallest change that this run "
            "would have shown with 80 % power. Ratios carry over to another machine; milliseconds hold for this run."
        ),
    ]
    return Section("versions", "What changed from a to b", elements)


def answer(summary: Summary) -> str:
    """Says in one line which parts changed, for a title; empty if no figure was compared."""
    rows = versions_in(summary)["rows"]
    for verdict in ("slower", "faster"):
        if parts := [row["what"] for row in rows if row["verdict"] == verdict]:
            more = f" and {len(parts) - MAX_NAMED} more parts" if len(parts) > MAX_NAMED else ""
            named = ", ".join(parts[:MAX_NAMED]) if more else join_names(parts)
            return f"b is {verdict} than a in {named}{more}"
    is_tested = any(row["verdict"] == "not_shown" for row in rows)
    return "No difference between a and b is shown" if is_tested else ""


def _sentences(rows: Sequence[VersionRow]) -> Iterator[str]:
    for verdict in ("slower", "faster"):
        some = [_change_text(row) for row in rows if row["verdict"] == verdict]
        if some:
            yield f"b is {verdict} than a: {'; '.join(some)}."
    tested = [row for row in rows if row["verdict"] != "unknown"]
    if not tested:
        yield f"No figure of a and b was compared: {not_tested(row['reason'] for row in rows)}."
    elif all(row["verdict"] == "not_shown" for row in tested):
        yield f"No difference between a and b is shown.{_visible_text(tested)}"
    for row in rows:
        if row["verdict"] == "unknown" and not (row["a"] and row["b"]) and (row["a"] or row["b"]):
            side, value = ("b", row["b"]) if row["b"] else ("a", row["a"])
            yield f"Only {side} has {row['what']}: {figure(value or 0.0, unit='ms')}."
    beyond = [row["what"] for row in rows if row["beyond"]]
    if beyond:
        yield f"SLOWER by more than the threshold: {join_names(beyond)}."


def _change_text(row: VersionRow) -> str:
    low, high = row["ratio_ci95"]
    change = row["difference"] or 0.0
    amount = figure(abs(change), negate_interval(row["ci95"]) if change < 0 else row["ci95"], "ms")
    return f"{row['what']} by {amount}, {times(row['ratio'] or 0.0, (low, high))}"


def _visible_text(rows: Sequence[VersionRow]) -> str:
    ratios = [row["visible_ratio"] for row in rows if (row["a"] or 0.0) >= LARGE_MS and row["visible_ratio"]]
    if not ratios:
        return ""
    return f" In parts of {LARGE_MS:g} ms or more, this run would have seen {excess(min(ratios), max(ratios))}."


def _about(versions: Versions) -> Iterator[str]:
    for side, checkout in versions["checkouts"].items():
        yield f"{side} is {checkout['given']}, commit {checkout['commit'][:12]}."
    if versions["delay"]:
        yield f"b has an injected delay: {versions['delay']}."
    if versions["allowed"]:
        yield f"Answers to {join_names(versions['allowed'])} were allowed to differ, and were not compared."
    if versions["threshold"] is not None:
        yield f"Threshold: exit code 4 if b is shown to be slower by more than {100 * versions['threshold']:g} %."


def _table(rows: Sequence[VersionRow]) -> Table:
    return table_of(
        "versions",
        "Mean of each part in the mix, b against a, with 95 % intervals",
        rows,
        [
            *texts("what"),
            (Column("a", "ms"), lambda row: number(row["a"])),
            (Column("b", "ms"), lambda row: number(row["b"])),
            *contrast_columns("b", "a", "ms", spare=(2, 1)),
            (Column("b is", numeric=False), _verdict),
        ],
    )


def _verdict(row: VersionRow) -> Cell:
    text = row["verdict"].replace("_", " ")
    return Cell(text, text, tone="bad" if row["verdict"] == "slower" else "", note=row["reason"] or "")
