"""The differences that a terminal shows, and its message if nothing was tested."""

from __future__ import annotations

from typing import Any

import pytest

from hops.elements.element import Text
from hops.elements.table import Table
from hops.tables.latency import shown_differences
from hops.tables.view import SummaryView

NO_BLOCKS = "needs 3 blocks, and there are 2"
FEW = "needs 2,000 journeys, and there are 700"


def row(metric: str, verdict: str, reason: str | None = None, journey: str = "browse") -> dict[str, Any]:
    known = verdict != "unknown"
    ends = [-112.0, -110.0] if known else [None, None]
    names = {"journey": journey, "metric": metric, "left": "rest", "right": "graphql"}
    values = {"left_value": 10.0, "right_value": 121.0, "difference": -111.0, "ci95": ends}
    ratio = {"ratio": 0.08, "ratio_ci95": [0.07, 0.09] if known else [None, None]}
    chance = {"p_corrected": 0.01 if known else None, "visible_ratio": None, "effect": 1.0}
    return {**names, **values, **ratio, **chance, "verdict": verdict, "reason": reason}


def untested_row(metric: str, reason: str, journey: str = "browse") -> dict[str, Any]:
    return row(metric, "unknown", reason, journey)


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        ([row("p50", "not_shown"), row("p99", "not_shown")], ["No significant differences at p50 or p99."]),
        ([untested_row("p50", NO_BLOCKS), untested_row("p99", NO_BLOCKS)],
         [f"Differences at p50 and p99 were not tested: {NO_BLOCKS}."]),
        ([row("p50", "not_shown"), untested_row("p99", FEW)],
         ["No significant differences at p50.", f"Differences at p99 were not tested: {FEW}."]),
        ([row("p50", "left_lower"), row("p50", "not_shown", journey="login"), untested_row("p99", FEW)],
         ["1 of 2 tested differences at p50 are significant.", f"Differences at p99 were not tested: {FEW}."]),
        ([row("p99", "not_shown"), untested_row("p99", FEW, "login"), untested_row("p99", "one side is 0", "checkout")],
         ["No significant differences at p99.",
          f"2 of 3 differences at p99 were not tested: {FEW} (and 1 other reason)."]),
    ],
)  # fmt: skip
def test_untested_pairs_show_no_difference_but_the_reason(rows: list[dict[str, Any]], sentences: list[str]) -> None:
    view = SummaryView({"mode": "open", "verdict": "VALID", "topologies": {}, "comparisons": rows})  # type: ignore[typeddict-item]
    elements = shown_differences(view)
    assert [element.text for element in elements if isinstance(element, Text)] == sentences
    tables = [element for element in elements if isinstance(element, Table)]
    assert sum(len(table.rows) for table in tables) == sum(row["verdict"] == "left_lower" for row in rows)
