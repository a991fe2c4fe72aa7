"""Parity compares answers byte by byte, and says where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from experiment.errors import SHOWN, ParityError
from experiment.parity.answers import compare, drop_aborted

RIGHT = {"id": 7, "price": {"amount_minor": 1999, "currency": "EUR"}, "reviews": [{"id": 1}, {"id": 2}]}


class FixedReference:
    def answer(self, journey: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return RIGHT


def row(answer: object, outcome: str = "ok", error: str = "") -> dict[str, Any]:
    ended = {"outcome": outcome, "error": error, "answer": answer}
    return {"seq": 3, "journey": "product", "channel": "mobile", "params": {"product_id": 7}, **ended}


def places(answer: object, **more: str) -> tuple[str, ...]:
    differences = compare([row(answer, **more)], FixedReference())  # type: ignore[arg-type]
    return differences[0].places if differences else ()


def test_equal_answers_leave_no_difference() -> None:
    assert places(RIGHT) == ()


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        (RIGHT | {"price": {"amount_minor": 1998, "currency": "EUR"}}, "price.amount_minor: 1998, expected 1999"),
        # a number that was sent as text
        (RIGHT | {"id": "7"}, "id: '7', expected 7"),
        # true is not 1, although they are equal in Python
        (RIGHT | {"reviews": [{"id": True}, {"id": 2}]}, "reviews[0].id: True, expected 1"),
        (RIGHT | {"reviews": [{"id": 2}, {"id": 1}]}, "reviews[0].id: 2, expected 1"),
        (RIGHT | {"reviews": [{"id": 1}]}, "reviews: 1 entries, expected 2"),
        (RIGHT | {"stock": 1}, "stock: not expected"),
        ({key: value for key, value in RIGHT.items() if key != "id"}, "id: missing"),
    ],
)
def test_a_difference_is_found_at_its_path(answer: object, place: str) -> None:
    assert place in places(answer)


def test_a_failed_journey_is_a_difference() -> None:
    assert places(None, outcome="server", error="HTTP 500") == ("failed as server: HTTP 500",)


def test_only_aborted_journeys_may_lack_an_answer() -> None:
    rows = [row(RIGHT), row(None, "server", "503"), row(None, "wrong_answer", "no id"), row(None, "timeout", "5 s")]
    assert drop_aborted(rows, aborts=False) == rows
    assert [one["outcome"] for one in drop_aborted(rows, aborts=True)] == ["ok", "wrong_answer", "timeout"]


def test_the_error_shows_the_first_differences_and_counts_the_rest() -> None:
    rows = [row(RIGHT | {"id": number}) for number in range(100, 100 + SHOWN + 3)]
    differences = compare(rows, FixedReference())  # type: ignore[arg-type]
    text = str(ParityError("hybrid", 40, differences))
    assert f"hybrid gave {SHOWN + 3} wrong answers out of 40" in text
    assert "id: 100, expected 7" in text
    assert "and 3 more" in text
