"""The gate on the speed of the machine."""

from __future__ import annotations

from typing import Any

import pytest

from hops.gates.machine_speed import with_speed_gates
from hops.gates.verdict import failing_gates, verdict_of
from hops.run.documents.gate import NOISY, VALID


def trial(speed: float | None, *, used: bool = True, topology: str = "rest") -> Any:
    return {"used": used, "topology": topology, "gates": []} | ({} if speed is None else {"machine_speed": speed})


@pytest.mark.parametrize(
    ("trials", "failing"),
    [
        ([trial(20.0), trial(20.2), trial(21.5)], [False, False, False]),
        ([trial(20.0), trial(18.3), trial(20.0)], [False, True, False]),
        ([trial(20.0), trial(22.0), trial(20.0)], [False, True, False]),
        ([trial(10.0, used=False), trial(20.0), trial(20.0), trial(20.0)], [True, False, False, False]),
        ([trial(10.0), trial(20.0)], [False, False]),
        ([trial(None), trial(20.0), trial(20.0), trial(15.0)], [False, False, False, True]),
        ([*[trial(20.0)] * 3, *[trial(25.0, topology="grpc")] * 2, trial(20.0, topology="grpc")], [*[False] * 5, True]),
    ],
    ids=["steady", "slower", "faster", "replaced", "too few", "not measured", "another arm"],
)
def test_a_trial_far_from_the_median_is_noisy(trials: list[Any], failing: list[bool]) -> None:
    judged = [one["gates"] for one in with_speed_gates(trials)]
    assert [failing_gates(gates) == ["speed_off_share"] for gates in judged] == failing
    assert [verdict_of(gates) for gates in judged] == [NOISY if fails else VALID for fails in failing]
