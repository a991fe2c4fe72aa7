"""A user's values are read exactly, and a message names each mistake with what is valid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from experiment.arguments import ascending, choice, choices, duration_s, number_in, percentage, whole_number
from experiment.errors import UsageError

WAYS = ("push", "poll")
KINDS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "whole": (whole_number, (1, 10_000)),
    "rising": (ascending, (0, 1_000)),
    "time": (duration_s, ("1ms", "5s")),
    "pause": (duration_s, ("0s", "10m")),
    "number": (number_in, (0.1, 1_440, "minutes")),
    "share": (percentage, (0.01, 50, "5%")),
    "one": (choice, (WAYS,)),
    "some": (choices, (WAYS,)),
}
"""The readers, each with its range or its valid values."""


def read(kind: str, given: str) -> Any:
    reader, valid = KINDS[kind]
    return reader("x", given, *valid)


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("whole", "1", 1),
        ("whole", "10000", 10_000),
        ("rising", "0, 10,1000", (0, 10, 1_000)),
        *(("time", given, seconds) for given, seconds in (("1ms", 0.001), ("0.5s", 0.5), ("5s", 5.0))),
        *(("pause", given, seconds) for given, seconds in (("0", 0.0), ("0s", 0.0), ("100ms", 0.1), ("10m", 600.0))),
        ("number", "0.1", 0.1),
        ("number", "1440", 1_440),
        *(("share", given, share) for given, share in (("5%", 0.05), ("2.5%", 0.025), ("50%", 0.5), ("0.01%", 0.0001))),
        ("one", "poll", "poll"),
        ("some", "poll, push", ["poll", "push"]),
    ],
)
def test_a_valid_value_is_read(kind: str, given: str, value: object) -> None:
    assert read(kind, given) == (pytest.approx(value) if isinstance(value, float) else value)


WRONG = {
    "whole": (["0", "-3", "many", "1.5", "10001", "٣", ""], "is not valid: give an integer from 1 to 10000"),
    "time": (["foo", "", "100", "0ms", "0.5ms", "6s", "-1s", "1m", "٣ms"], "give a duration from 1ms to 5s, such as"),
    "pause": (["100", "-1s", "11m"], "is not valid: give a duration from 0s to 10m, such as 100ms"),
    "number": (["-1", "0", "nan", "inf", "abc", ""], "is not valid: give minutes from 0.1 to 1440"),
    "share": (
        ["0", "0%", "0.009%", "1e-200%", "-5%", "51%", "5", "five", "nan%", "inf%", "%", "5%%"],
        "is not valid: give a percentage from 0.01% to 50%, such as 5%",
    ),
    "one": (["pull", "", "push,poll"], "is unknown; "),
}


@pytest.mark.parametrize(("kind", "given"), [(kind, given) for kind, (every, _) in WRONG.items() for given in every])
def test_another_value_is_refused(kind: str, given: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(kind, given)
    assert str(refused.value).startswith(f"x={given} ")
    assert WRONG[kind][1] in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("rising", "0,1001", "x=1001 is not valid: give an integer from 0 to 1000"),
        ("rising", "20,,50", "x= is not valid"),
        ("rising", "20;50", "x=20;50 is not valid"),
        ("rising", "10,10", "x=10,10 is not valid: each number must be above the one before it"),
        ("rising", "20,10", "x=20,10 is not valid: each number must be above the one before it"),
        ("some", "pull", "x=pull: pull is unknown; did you mean poll? valid: push, poll"),
        ("some", "push,", "x=push,: an empty item is unknown; valid: push, poll"),
        ("some", "push,push", "x=push,push: push is given twice; give each once"),
    ],
)
def test_a_wrong_item_of_several_is_named(kind: str, given: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(kind, given)
    assert str(refused.value).startswith(message)
