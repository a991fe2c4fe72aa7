"""A kind of experiment is a folder: summary and report take everything that is special about a kind from its folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Group

from hops.analysis.summary import Measured, summarise
from hops.elements.element import Section, Text
from hops.errors import MalformedRunError
from hops.kinds import kind_of, kinds
from hops.report import write_report
from hops.report.view import Kind, View
from hops.run.files import RunFiles

from ..report.pages import page_of


@pytest.fixture(scope="module")
def run(make_run: Callable[..., RunFiles]) -> RunFiles:
    return make_run(topologies=("rest", "hybrid"), blocks=3, journeys_per_trial=60)


def test_a_run_has_the_kind_of_its_manifest(run: RunFiles) -> None:
    asked = {name: kind_of(dataclasses.replace(run, manifest={"kind": name})) for name in (*kinds(), "proof")}
    with_arms = ["capacity", "chaos", "compare-versions", "isolate", "ladder", "rates", "rtt", "studies", "watch"]
    assert [name for name, kind in asked.items() if kind.arms] == with_arms
    assert asked["proof"] is asked["bench"]


def test_a_run_of_an_unknown_kind_is_refused_with_the_known_kinds(run: RunFiles) -> None:
    with pytest.raises(
        MalformedRunError, match="the kind odd is not known; valid ones are bench, capacity, chaos, compare, "
    ):
        kind_of(dataclasses.replace(run, manifest={"kind": "odd"}))


def test_a_new_kind_is_in_the_summary_and_the_report(run: RunFiles, tmp_path: Path) -> None:
    def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
        return [(run.topologies[1], run.topologies[0])]

    def figures_of(measured: Measured) -> dict[str, object]:
        return {"shade": dict.fromkeys(measured.latencies, "blue")}

    def conclusions(view: View) -> Section:
        return Section("shade", "Which shade each has", [Text(str(view.summary["shade"]))])

    kind = Kind(
        "Which shade do customers get?",
        lambda summary: Group(str(summary["shade"])),
        called="colours", pairs_of=pairs_of, figures_of=figures_of, conclusions=conclusions, arms="shades",
    )  # fmt: skip
    summary = summarise(run, name="night", pairs_of=kind.pairs_of, figures_of=kind.figures_of)
    assert {(row["left"], row["right"]) for row in summary["comparisons"]} == {("hybrid", "rest")}
    write_report(run, summary, tmp_path, kind)
    text, page = (tmp_path / "report.html").read_text(encoding="utf-8"), page_of(tmp_path)
    assert page.sections[:2] == ["shade", "budgets"]
    assert "Hopwise · colours · night" in text
    assert "Which shade do customers get?" in text
    assert "3 blocks of 2 shades in random order" in text
    assert "&#39;rest&#39;: &#39;blue&#39;" in text
