"""The README's picture has the figures of the example's report."""

from __future__ import annotations

from pathlib import Path

import pytest

from hops.errors import HopsError
from hops.report.picture import picture, read_answers

DRAWN = True
ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "docs" / "example"
REPORT = (EXAMPLE / "report.md").read_text(encoding="utf-8")


def test_it_has_the_figures_of_the_report() -> None:
    answers = {one.topology: one for one in read_answers(REPORT)}
    assert list(answers) == ["rest", "grpc", "hybrid", "graphql"]  # the shortest mean wait first
    hybrid = answers["hybrid"]
    assert (hybrid.p50, hybrid.core_hours) == ("7.05", "2.88")
    assert hybrid.budget_ms["gateways"] == 2.04
    assert sum(hybrid.budget_ms.values()) == pytest.approx(9.37, abs=0.05)
    drawn = picture(REPORT)
    assert all(f">p50 {one.p50} ms<" in drawn and f">{one.core_hours} core-hours<" in drawn for one in answers.values())


def test_it_follows_light_and_dark_by_itself() -> None:
    drawn = picture(REPORT)
    assert "prefers-color-scheme: dark" in drawn
    used = {part.partition(")")[0] for part in drawn.split("var(")[1:]}
    assert {name for name in used if f"{name}:" not in drawn} == set()


@pytest.mark.parametrize("missing", ["**Hop budgets by group", "**Core-hours for", "machine: "])
def test_a_report_without_the_figures_is_refused(missing: str) -> None:
    with pytest.raises(HopsError, match=r"report\.md"):
        picture(REPORT.replace(missing, "gone "))
