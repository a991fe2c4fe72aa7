"""Every element on a terminal: complete at any width, in the words of the page."""

from __future__ import annotations

import pytest

from hops.elements.element import Fold, Heading, Points, Section, Terms, Text
from hops.elements.markdown import markdown
from hops.elements.numbers import OPEN
from hops.elements.table import Cell, Column, Table, estimate, number, words
from hops.terminal.render import render

from ..report.pages import print_view

LATENCY = Table(
    "latency",
    "Latency, ms, with 95 % intervals",
    [
        Column("journey", numeric=False), Column("topology", numeric=False),
        Column("mean", "ms", interval=True, spare=2), Column("p50", "ms", interval=True),
        Column("p99", "ms", interval=True), Column("max", "ms", spare=1), Column("failed"),
    ],
    [
        [
            words(journey), words(topology), estimate(5.5, (5.0, 6.0)), estimate(5.0, (4.5, 5.5)),
            estimate(20.0, (15.0, None)), number(31.0), Cell("154", 154, note="150 timeout, 4 wrong answer"),
        ]
        for journey in ("GET /users/[id]", "all")
        for topology in ("gw[/red]", "rest")
    ],
    heads=2,
)  # fmt: skip
BUDGET = Table(
    "budget",
    "Parts of a hop budget, ms",
    [Column("part", numeric=False), Column("group", numeric=False, spare=1), Column("mean", "ms")],
    [
        [words("wire:graphql-gateway→payment"), words("internal calls"), number(3.0, share=0.75)],
        [words("db:order"), words("database"), number(1.0, share=0.25)],
        [words("adds up to"), words(""), number(4.0)],
    ],
    totals=1,
)


def show(*elements: object, width: int = 80) -> str:
    return "".join(line.rstrip() + "\n" for line in print_view(render(elements), width).splitlines())


def test_text_lists_and_folds_are_below_each_other_unchanged():
    fold = Fold("More of :key:", [Points(["one [b]", "two"])])
    text = show(Text("Read [this] first."), Heading("Words"), Terms([("hop", "one link")]), fold)
    assert text == "Read [this] first.\n\nWords\n- hop: one link\n\nMore of :key:\n- one [b]\n- two\n\n"


def test_an_interval_is_below_its_figure_and_a_note_below_both():
    lines = show(LATENCY, width=120).splitlines()
    first = next(index for index, line in enumerate(lines) if "GET /users/[id]" in line)
    assert lines[first].split()[2:] == ["gw[/red]", "5.50", "5.00", "20.0", "31.0", "154"]
    assert f"5.00 to 6.00  4.50 to 5.50  15.0 to {OPEN}" in lines[first + 1]
    assert lines[first + 1].endswith("150 timeout,")


def test_a_narrow_terminal_leaves_out_what_is_marked_as_spare_and_says_so():
    text = show(LATENCY, width=80)
    assert "(left out for width: mean)" in text
    assert "max" in text
    assert "(left out for width: mean; max)" in show(LATENCY, width=68)
    assert "left out" not in show(LATENCY, width=120)


@pytest.mark.parametrize("width", [44, 60, 80, 110, 200])
def test_no_figure_and_no_name_is_ever_cut_off(width):
    text = show(LATENCY, BUDGET, width=width)
    assert max(map(len, text.splitlines())) <= width
    for name in ("GET /users/[id]", "gw[/red]", "wire:graphql-gateway→payment"):
        assert name in text
    assert text.count(OPEN) == text.count(f"to {OPEN}")
    assert text.count(f"15.0 to {OPEN}") in (0, 4)


def test_a_table_is_not_scanned_for_each_of_its_rows():
    """A set of traces may have thousands of operations."""

    class Rows(list):
        gone_through = 0

        def __iter__(self):
            self.gone_through += 1
            return super().__iter__()

    rows = Rows([words(f"GET /{at // 2}"), words("p50"), number(1.0)] for at in range(100))
    columns = [Column("operation", numeric=False), Column("figure", numeric=False), Column("mean", "ms")]
    lines = show(Table("sets", "Two sets", columns, rows, heads=2)).splitlines()
    assert lines[lines.index(next(line for line in lines if "GET /1 " in line)) - 1] == ""
    assert rows.gone_through < 50


def test_a_share_is_a_bar_next_to_its_figure_and_sums_are_separate():
    rows = [line for line in show(BUDGET).splitlines() if line]
    assert next(line for line in rows if "wire:" in line).split()[-3:] == ["75.0", "%", "█" * 10]
    assert next(line for line in rows if "db:order" in line).split()[-3:] == ["25.0", "%", "███▍"]
    assert rows[-1].split() == ["adds", "up", "to", "4.00"]


def test_a_cell_reads_the_same_in_markdown():
    lines = markdown("Run", [], [Section("latency", "Latency", [LATENCY])]).splitlines()
    text = show(LATENCY, width=200)
    for cell in ("4.50 to 5.50", f"15.0 to {OPEN}", "31.0", "154"):
        assert cell in text
        assert sum(cell in line for line in lines) == 4
