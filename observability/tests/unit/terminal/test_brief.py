"""A bench and a comparison in a few lines on a terminal with 80 columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hops.run.documents.gate import NOISY, VALID, WRONG
from hops.run.documents.summary import Summary
from hops.run.files import SUMMARY, read_document
from hops.terminal.brief import brief

from ..report.pages import page_of, print_view

MAX_LINES = 36
"""Four more lines are the links, and the line that says that the run is finished."""


@pytest.fixture(scope="module", params=["noisy bench", "comparison", "noisy", "wrong bench"])
def folder(request: pytest.FixtureRequest, reported: Callable[[str], Path]) -> Path:
    return reported(request.param)


@pytest.fixture(scope="module")
def summary(folder: Path) -> Summary:
    return read_document(folder / SUMMARY)


def print_brief(summary: Summary, width: int = 80) -> str:
    return print_view(brief(summary), width)


def test_it_has_few_lines_and_fits(summary: Summary) -> None:
    lines = print_brief(summary).splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= 80


def test_it_has_verdict_answer_latencies_and_budget(summary: Summary) -> None:
    text = print_brief(summary)
    assert text.startswith(f"{summary['verdict']}: ")
    for words in ("Latency", "p50", "p99", "udget of the mix", "adds up to", *summary["topologies"]):
        assert words in text
    assert re.search(r"\d \([\d.]+ to [\d.…]+\)", text)  # a figure and its interval


def test_figures_that_are_not_valid_have_the_word_next_to_them(summary: Summary) -> None:
    captions = [line for line in print_brief(summary).splitlines() if "Latency" in line or "budget of the mix" in line]
    assert len(captions) >= 2
    for caption in captions:
        assert caption.startswith(f"{summary['verdict']}: ") == (summary["verdict"] != VALID)
    if summary["verdict"] == NOISY:
        assert "- NOISY: CPU steal: " in print_brief(summary)
        assert "To do: Close other programs" in print_brief(summary)
    if summary["verdict"] == WRONG:
        assert "- WRONG: answers that differ" in print_brief(summary)


def test_the_table_of_the_fastest_says_which_figures_it_has(summary: Summary) -> None:
    captions = [line.rstrip() for line in print_brief(summary).splitlines() if "Fastest" in line]
    mark = "" if summary["verdict"] == VALID else f"{summary['verdict']}: "
    several = len(summary["topologies"]) > 1
    assert captions == [f"{mark}Fastest topology for each journey at the median, ms"] * several


def test_programs_that_disturbed_a_run_are_named(summary: Summary) -> None:
    gate = {"name": "other_cores", "value": 0.5, "limit": 0.25, "ok": False, "verdict": NOISY}
    programs = [{"name": "cc1", "pid": 12, "cores": 0.5}]
    disturbed: Any = {**summary, "gates": [gate], "programs": programs, "verdict": NOISY}
    flat = " ".join(print_brief(disturbed).split())
    assert "CPU of other programs: 0.500 cores, not below 0.25 cores: cc1 (pid 12) 0.50 cores." in flat


def test_the_report_has_every_figure(folder: Path, summary: Summary) -> None:
    # sums and shares are on the page as bars
    lines = [line for line in print_brief(summary, 400).splitlines() if "smaller" not in line]
    figures = set(re.findall(r"\d[\d.,]*\d(?! %)\b", "\n".join(lines)))
    text = page_of(folder).text
    assert len(figures) > 30
    assert {figure for figure in figures if figure not in text} <= {str(number) for number in range(100)}
