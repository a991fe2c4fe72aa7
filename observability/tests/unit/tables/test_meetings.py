"""The tables of what ran at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from hops.elements.element import Fold, Text
from hops.elements.table import Table
from hops.tables.meetings import meetings_elements, queues_table
from hops.tables.view import SummaryView

TOPOLOGIES = {"graphql": {"journeys": {"all": {"latency_ms": {"mean": 20.0, "p99": 150.0}}}}}
"""Waits matter if they are at least 0.4 ms in the mean, and 3 ms above p99."""


def view(**figures: Any) -> SummaryView:
    return SummaryView({"mode": "open", "verdict": "VALID", "topologies": TOPOLOGIES, **figures})  # type: ignore[typeddict-item]


def estimate(value: float, reach: float) -> dict[str, Any]:
    return {"value": value, "ci95": [value - reach, value + reach]}


def meeting(journey: str, reach: float, **percentiles: dict[str, Any]) -> dict[str, Any]:
    return {
        "topology": "graphql", "journey": journey, "met": "bulk_lines", "meetings": 500, "share": 0.14,
        "more": estimate(31.0, reach), "mean_ms": 4.3, "percentiles": {"p50": estimate(20.0, 40.0), **percentiles},
        "beyond_p99": 0.71 if percentiles else None,
    }  # fmt: skip


def queue(component: str, met: str, mean_ms: float, beyond_p99_ms: float | None) -> dict[str, Any]:
    counts = {"share": 0.14, "beyond_p99": 12}
    waits = {"mean_ms": mean_ms, "beyond_p99_ms": beyond_p99_ms}
    return {"topology": "graphql", "component": component, "met": met, **counts, **waits}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [],
            "This was not tested: a test needs 40 journeys that ran at the same time as a journey of one kind, and 40 "
            "that did not.",
        ),
        ([meeting("all", 40.0)], "No kind of journey is shown to run at the same time as slower journeys."),
    ],
)
def test_untested_differences_are_not_called_none(rows: list[dict[str, Any]], text: str) -> None:
    assert meetings_elements(view(meetings=rows))[0] == Text(text)


def test_pairs_are_shown_where_the_mean_or_a_percentile_is_longer_beyond_doubt() -> None:
    rows = [
        meeting("all", 40.0),
        meeting("browse", 10.0),
        meeting("product", 40.0, p99=estimate(158.0, 93.0)),
        meeting("login", 40.0, p99=estimate(158.0, 200.0)),
    ]
    first, fold = meetings_elements(view(meetings=rows))
    assert isinstance(first, Text)
    assert isinstance(fold, Fold)
    overall, of_each = fold.elements
    assert isinstance(overall, Table)
    assert isinstance(of_each, Table)
    assert [row[1].text for row in overall.rows] == ["all"]
    assert [row[1].text for row in of_each.rows] == ["browse", "product"]
    cells = dict(zip((column.name for column in of_each.columns), of_each.rows[1], strict=True))
    assert cells["p99 longer by"].ends == (65.0, 251.0)
    assert cells["share"].value == pytest.approx(14.0)
    assert cells["share above p99"].text == "71.0"
    assert of_each.rows[0][-1].text == "–"


def test_waits_that_matter_are_shown_with_the_kinds_under_way() -> None:
    rows = [
        queue("gateway", "all", 6.0, 90.0),
        queue("gateway", "bulk_lines", 5.0, 88.0),
        queue("gateway", "login", 0.1, 23.0),
        queue("gateway", "product", 0.5, 2.0),
        queue("order", "all", 0.39, None),
        queue("order", "bulk_lines", 0.39, None),
    ]
    table = queues_table(view(queues=rows))
    assert [(row[1].text, row[2].text) for row in table.rows] == [
        ("gateway", "any kind"),
        ("gateway", "bulk_lines"),
        ("gateway", "login"),
    ]
    assert queues_table(view(queues=rows[4:])) is None
    assert queues_table(view()) is None
