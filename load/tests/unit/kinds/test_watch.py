from __future__ import annotations

import pytest

from experiment.arguments import ascending
from experiment.errors import UsageError
from experiment.kinds.watch import MAX_WATCHERS, parse_ways


def test_numbers_of_watchers_ascend() -> None:
    assert ascending("watchers", "100, 1000", 1, MAX_WATCHERS) == (100, 1000)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("-1", "watchers=-1 is not valid: give an integer from 1 to 10000"),
        ("0", "watchers=0 is not valid"),
        ("10001", "from 1 to 10000"),
        ("many", "watchers=many is not valid"),
        ("", "watchers= is not valid"),
        ("100,100", "each number must be above the one before it"),
    ],
)
def test_other_numbers_are_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ascending("watchers", given, 1, MAX_WATCHERS)


@pytest.mark.parametrize(
    ("given", "message"),
    [("pull", "'pull' is unknown; valid: push, poll"), ("push,push", "give each way once"), ("", "'' is unknown")],
)
def test_other_ways_are_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_ways(given)
