"""The gate on the speed of the machine."""

from __future__ import annotations

from typing import Any

import pytest

from hops.gates.machine_speed import with_speed_gates
from hops.gates.verdict import failing_gates, verdict_of
from hops.run.documents.gate import NOISY, VALID


def trial(speed: float | None, *, block: int = 1, used: bool = True, topology: str = "rest") -> Any:
    made = {"block": block, "used": used, "topology": topology, "gates": []}
    return made | ({} if speed is None else {"machine_speed": speed})


def of_blocks(*speeds: float | None, topology: str = "rest") -> list[Any]:
    return [trial(speed, block=block, topology=topology) for block, speed in enumerate(speeds, start=1)]


SAME_LOAD = dict.fromkeys(["rest", "grpc", *"abcd"], "load")


def judge(trials: list[Any], loads: dict[str, str] | None = None) -> list[bool]:
    """Returns whether each trial fails the gate."""
    judged = [one["gates"] for one in with_speed_gates(trials, loads)]
    failing = [failing_gates(gates) == ["speed_off_share"] for gates in judged]
    assert [verdict_of(gates) for gates in judged] == [NOISY if fails else VALID for fails in failing]
    return failing


@pytest.mark.parametrize(
    ("trials", "failing"),
    [
        (of_blocks(20.0, 20.2, 21.5), [False, False, False]),
        (of_blocks(20.0, 18.3, 20.0), [False, True, False]),
        (of_blocks(20.0, 22.0, 20.0), [False, True, False]),
        ([trial(10.0, used=False), *of_blocks(20.0, 20.0, 20.0)], [True, False, False, False]),
        (of_blocks(10.0, 20.0), [False, False]),
        (of_blocks(None, 20.0, 20.0, 15.0), [False, False, False, True]),
        ([*of_blocks(20.0, 20.0, 20.0), *of_blocks(25.0, 25.0, 20.0, topology="grpc")], [*[False] * 5, True]),
    ],
    ids=["steady", "slower", "faster", "replaced", "too few", "not measured", "another arm"],
)
def test_a_trial_far_from_the_median_is_noisy(trials: list[Any], failing: list[bool]) -> None:
    assert judge(trials) == failing


@pytest.mark.parametrize(
    ("rest", "grpc", "failing"),
    [
        ((20.0, 20.0, 20.0, 16.0), (25.0, 25.0, 25.0, 20.0), []),
        ((20.0, 20.0, 20.0, 16.0), (25.0, 25.0, 25.0, 25.0), [("rest", 4), ("grpc", 4)]),
        ((20.0, 20.0, 20.0, 16.0), (25.0, 25.0), []),
    ],
    ids=["a slower block", "a slower trial", "nothing to compare with"],
)
def test_within_blocks_only_a_trial_unlike_the_others_of_its_block_is_noisy(
    rest: tuple[float, ...], grpc: tuple[float, ...], failing: list[tuple[str, int]]
) -> None:
    trials = [*of_blocks(*rest), *of_blocks(*grpc, topology="grpc")]
    fails = judge(trials, SAME_LOAD)
    found = [(one["topology"], one["block"]) for one, failed in zip(trials, fails, strict=True) if failed]
    assert found == failing


def test_within_blocks_one_of_many_trials_that_is_slower_does_not_make_the_others_noisy() -> None:
    trials = [one for arm in "abcd" for one in of_blocks(20.0, 20.0, 16.0 if arm == "b" else 20.0, topology=arm)]
    assert [number for number, fails in enumerate(judge(trials, SAME_LOAD)) if fails] == [5]


def test_within_blocks_a_replaced_trial_is_compared_with_the_others_of_its_block() -> None:
    replaced = trial(20.0, block=4, used=False)
    trials = [replaced, *of_blocks(20.0, 20.0, 20.0, 16.0), *of_blocks(25.0, 25.0, 25.0, 20.0, topology="grpc")]
    assert judge(trials, SAME_LOAD) == [True, *[False] * 8]


def test_within_blocks_trials_under_another_load_do_not_count() -> None:
    of_arms = {
        "rest-small": (20.0, 16.0),
        "grpc-small": (25.0, 20.0),
        "rest-large": (20.0, 20.0),
        "grpc-large": (25.0, 25.0),
    }
    trials = [one for arm, (usual, last) in of_arms.items() for one in of_blocks(*[usual] * 3, last, topology=arm)]
    loads = {arm: arm.split("-")[1] for arm in of_arms}
    assert not any(judge(trials, loads))
    assert any(judge(trials, dict.fromkeys(of_arms, "load")))
