"""Where the seconds of trials went, by topology."""

from __future__ import annotations

from typing import cast

import pytest

from hops.elements.compared import TARGET, TOPOLOGY
from hops.run.documents.trial import TrialRecord
from hops.tables.seconds import seconds_table

MANIFEST = {"profile": {"warmup_s": 4, "duration_s": 20}}


def trial(topology: str, **phases_s: float) -> TrialRecord:
    return cast("TrialRecord", {"topology": topology, "phases_s": phases_s})


def test_phases_are_means_and_the_rest_is_overhead() -> None:
    both = {"parity": 0.5, "warmup": 4.1, "replay": 20.2}
    trials = [trial("rest", start=1.0, **both), trial("grpc"), trial("rest", start=3.0, **both)]
    table = seconds_table(trials, MANIFEST, TOPOLOGY)
    rest, grpc = ([cell.value for cell in row] for row in table.rows)
    assert [column.name for column in table.columns][-2:] == ["all", "overhead"]
    assert rest == ["rest", *map(pytest.approx, (2.0, 0.5, 4.1, 20.2, 0.0, 0.0, 0.0, 26.8, 2.8))]
    assert grpc[-2:] == [0.0, -24.0]


def test_an_arm_s_own_load_is_no_overhead() -> None:
    manifest = MANIFEST | {"loads": {"rest": {"sending": {"duration_s": 50.0}}}}
    table = seconds_table([trial("rest", warmup=4.0, replay=50.5), trial("grpc", replay=24.0)], manifest, TARGET)
    assert table.columns[0].name == "target"
    assert [row[-1].value for row in table.rows] == [0.5, 0.0]
