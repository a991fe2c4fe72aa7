"""The first screen is short: few sentences with few figures, one picture and one table; Markdown is short too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hops.elements.element import Element, Figures, Fold, Points, Section, Text
from hops.elements.table import Table
from hops.kinds import kind_of
from hops.report.contents import all_sections
from hops.report.view import View
from hops.run.files import SUMMARY, read_run
from synthetic.run import Arm

from .pages import page_of, reported_run

MAX_SENTENCES, MAX_FIGURES = 10, 3
_INTERVAL = re.compile(r"\([^()]* to [^()]*\)")
_NAME = re.compile(r"\bp\d+\b|95 % interval")
_FIGURE = re.compile(r"\d[\d,.]*\d|\d")


@pytest.fixture(scope="module", params=["comparison", "noisy", "one block", "two blocks", "bench"])
def folder(request: pytest.FixtureRequest, reported: Callable[[str], Path]) -> Path:
    return reported(request.param)


@pytest.fixture(scope="module")
def sections(folder: Path) -> Sequence[Section]:
    run = read_run(folder)
    return all_sections(View(json.loads((folder / SUMMARY).read_text(encoding="utf-8")), run, kind_of(run)))


def test_few_sentences_are_above_the_folds(sections: Sequence[Section]) -> None:
    elements = list(sections[0].elements)
    folds = [index for index, one in enumerate(elements) if isinstance(one, Fold)]
    above = elements[: folds[0]]
    assert all(isinstance(one, Fold) for one in elements[folds[0] :])
    # the verdict above them has two sentences unless it is VALID
    sentences = [sentence for text in _texts(above) for sentence in _sentences(text)]
    assert 2 <= len(sentences) <= MAX_SENTENCES - 1
    assert sum(isinstance(one, Figures) for one in above) == 1
    assert sum(isinstance(one, Table) for one in above) <= 1


def test_no_sentence_has_more_than_three_figures(sections: Sequence[Section]) -> None:
    crowded = [
        sentence
        for text in _texts(sections[0].elements)
        for sentence in _sentences(text)
        if len(_FIGURE.findall(_NAME.sub("", _INTERVAL.sub("", sentence)))) > MAX_FIGURES
    ]
    assert crowded == []


def test_markdown_is_short_and_names_the_files_that_have_the_rest(folder: Path) -> None:
    text = (folder / "report.md").read_text(encoding="utf-8")
    several = "·" in text.partition("\n")[0]
    assert 300 < len(text.split()) <= (5000 if several else 2500)
    *_, last = text.splitlines()
    named = re.findall(r"[a-z0-9_]+\.csv", last.replace("\\", ""))
    assert "report.html" in last
    assert sorted(named) == sorted(path.name for path in (folder / "csv").iterdir())


def test_markdown_has_the_gates_that_fail_and_no_other(folder: Path) -> None:
    gates = (folder / "report.md").read_text(encoding="utf-8").partition("## Can it be trusted?")[2]
    failing = re.findall(r"\| FAILS \|", gates)
    assert bool(failing) == ("NOISY" in gates)
    assert "| yes |" not in gates


def test_a_p99_without_both_ends_of_its_interval_is_not_in_the_picture(sections: Sequence[Section]) -> None:
    pictures = [one for one in _all(sections[0].elements) if isinstance(one, Figures)]
    charts = [chart for one in pictures for chart in one.charts if "Median and p99" in chart.description]
    assert charts
    drawn = re.findall(r"p99 [\d.,]+ ms(?: \(([^)]*)\))?", " ".join(chart.description for chart in charts))
    assert [interval for interval in drawn if not re.fullmatch(r"[\d.,]+ to [\d.,]+", interval)] == []


def test_only_the_first_section_is_open(sections: Sequence[Section]) -> None:
    assert [section.key for section in sections if not section.folded] == ["conclusions"]


def test_the_title_is_the_answer(folder: Path) -> None:
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    (title,) = re.findall(r"<h1>(?:<span.*?</span> )?(.*?)</h1>", (folder / "report.html").read_text(encoding="utf-8"))
    answer = r".+ (has|have) the lowest median over the whole mix next to the shop"
    said = re.fullmatch(answer + r"(; \w+ from [\d.]+ ms away for .+)?", title)
    if len(summary["topologies"]) == 1:
        assert re.fullmatch(r"hybrid answers half of all journeys within [\d.]+ ms", title)
    else:
        assert said if summary["blocks"] > 2 else title == ", ".join(summary["topologies"])


def test_a_fold_of_the_fastest_has_only_their_table(sections: Sequence[Section]) -> None:
    for one in sections[0].elements:
        if isinstance(one, Fold) and one.title.startswith("Which is the fastest"):
            table, *note = one.elements
            assert isinstance(table, Table)
            assert table.key == "fastest"
            assert all(isinstance(element, Text) for element in note)


def test_a_section_has_more_than_its_heading(sections: Sequence[Section]) -> None:
    assert all(section.elements for section in sections)
    assert [title for section in sections for title in _empty(section.elements)] == []


def test_a_comparison_of_edges_speaks_of_edges(tmp_path: Path) -> None:
    arms = [Arm(f"hybrid-{edge}", "hybrid", {"edge": edge}) for edge in ("envoy", "kong")]
    reported_run(tmp_path / "run", kind="compare", arms=arms, blocks=3, journeys_per_trial=300)
    text = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "Fastest edge for each journey" in text
    assert re.findall(".*[Tt]opolog.*", text) == []
    assert "Which edge is faster" in page_of(tmp_path / "run").text


def _all(elements: Sequence[Element]) -> Iterator[Element]:
    for one in elements:
        yield one
        if isinstance(one, Fold):
            yield from _all(one.elements)


def _texts(elements: Sequence[Element]) -> Iterator[str]:
    for one in elements:
        match one:
            case Text() | Figures():
                yield one.text
            case Points():
                yield from one.items
            case Fold():
                yield from _texts(one.elements)


def _sentences(text: str) -> list[str]:
    return [one for one in re.split(r"(?<=[.!?]) +(?=[A-Z])", text) if one]


def _empty(elements: Sequence[Element]) -> Iterator[str]:
    for one in elements:
        match one:
            case Fold():
                if not one.elements:
                    yield one.title
                yield from _empty(one.elements)
            case Table():
                if not one.rows:
                    yield one.caption
            case Points():
                if not one.items:
                    yield "no sentence"
