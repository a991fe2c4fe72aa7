"""Reading the checkouts that clients saw succeed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataset.acknowledged import Acknowledgement, read_acknowledged


def write_rows(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_only_checkouts_that_went_well_count(tmp_path: Path) -> None:
    file = write_rows(
        tmp_path / "journeys.jsonl",
        {"seq": 1, "journey": "checkout", "outcome": "ok", "order_id": 7},
        {"seq": 2, "journey": "checkout", "outcome": "server", "order_id": 0},
        "",
        {"seq": 3, "journey": "browse", "outcome": "ok"},
        {"journey": "checkout", "outcome": "ok", "order_id": 8, "user_id": 5, "idempotency_key": "k"},
    )
    assert list(read_acknowledged(file)) == [Acknowledgement(1, 7, None, None), Acknowledgement(5, 8, 5, "k")]
    assert [one.checkout for one in read_acknowledged(file)] == ["line 1", "5/k"]


def test_a_tape_says_whose_checkout_it_was(tmp_path: Path) -> None:
    tape = write_rows(
        tmp_path / "tape.jsonl",
        {"schema": 1},
        {"seq": 1, "journey": "checkout", "params": {"user_id": 9, "idempotency_key": "key", "lines": []}},
    )
    file = write_rows(tmp_path / "journeys.jsonl", {"seq": 1, "journey": "checkout", "outcome": "ok", "order_id": 7})
    assert list(read_acknowledged(file, tape)) == [Acknowledgement(1, 7, 9, "key")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "line 1: not a JSON object"),
        ({"journey": "checkout", "outcome": "ok"}, "line 1: a checkout that is ok needs an order_id"),
        ({"journey": "checkout", "outcome": "ok", "order_id": "x"}, "needs an order_id"),
        ({"journey": "checkout", "outcome": "ok", "order_id": 1, "user_id": "x"}, "user_id must be a number"),
        ({"seq": [1], "journey": "checkout", "outcome": "ok", "order_id": 1}, "line 1: seq must be a number"),
        ({"journey": "checkout", "outcome": "ok", "order_id": 1, "params": [1]}, "params must be a JSON object"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(read_acknowledged(write_rows(tmp_path / "journeys.jsonl", row)))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"seq": 1, "journey": "checkout"}, "line 1: a journey on a tape needs params"),
        ({"seq": 1, "params": [1]}, "line 1: params must be a JSON object"),
        ({"seq": [1], "params": {}}, "line 1: seq must be a number"),
    ],
)
def test_a_line_of_a_tape_that_is_wrong_is_named(tmp_path: Path, row: Any, message: str) -> None:
    tape, journeys = write_rows(tmp_path / "tape.jsonl", row), write_rows(tmp_path / "journeys.jsonl")
    with pytest.raises(ValueError, match=rf"tape\.jsonl, {message}"):
        list(read_acknowledged(journeys, tape))
