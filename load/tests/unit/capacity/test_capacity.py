"""What a user may ask of a sweep or a stress test, how steps are judged, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from experiment.arguments import ascending, duration_s, profile_of
from experiment.capacity.recorder import Recorder, steps_frame
from experiment.capacity.rig import Rig, Setup, TimeLeft
from experiment.capacity.search import SearchResult
from experiment.capacity.step import StepPlan, in_peak, most_under_way, recovery_s
from experiment.errors import UsageError
from experiment.generator.shopload import BINARY
from experiment.kinds import stress
from experiment.kinds.overload import parse_capacity
from experiment.kinds.stress import DEFAULT_USERS, connections_for, parse_users, tape_rate
from experiment.kinds.sweep import HIGHEST_OBJECTIVE, LEAST_JOURNEYS, PROFILES, judged, rates, seen, step_s
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.workload import in_stairs
from experiment.progress import Progress
from experiment.results.folder import read_json
from hops.errors import JaegerError
from hops.kinds.capacity.document import read_capacity
from hops.kinds.capacity.synthetic import step, synthetic_document
from mesh.description.ports import load_ports
from mesh.description.switches import MOST_CONNECTIONS, Switches
from mesh.description.topology import Topology, load_topology
from mesh.errors import AlreadyRunningError, ComponentDiedError, NotInstalledError, PortError

WORKLOAD = Path(__file__).resolve().parents[3] / "workloads" / "default.yaml"


class TestObjective:
    @pytest.mark.parametrize(("given", "expected"), [("100ms", 100.0), ("1ms", 1.0), ("0.5s", 500.0), ("5s", 5000.0)])
    def test_given(self, given: str, expected: float) -> None:
        assert 1e3 * duration_s("objective", given, "1ms", HIGHEST_OBJECTIVE) == expected

    @pytest.mark.parametrize("given", ["foo", "", "100", "0ms", "0.5ms", "6s", "-1s", "1m", "٣ms"])
    def test_bad_input_is_named_with_what_is_valid(self, given: str) -> None:
        with pytest.raises(UsageError, match=rf"objective={given} is not valid: give a duration from 1ms to 5s"):
            duration_s("objective", given, "1ms", HIGHEST_OBJECTIVE)


class TestRates:
    @pytest.mark.parametrize(
        ("start", "highest", "expected"),
        [
            (None, "1000", (20.0, 1000.0)),
            ("50", "1000", (50.0, 1000.0)),
            (None, "5", (5.0, 5.0)),
            ("2", "2", (2.0, 2.0)),
        ],
    )
    def test_given(self, start: str | None, highest: str, expected: tuple[float, float]) -> None:
        assert rates(start, highest) == expected

    @pytest.mark.parametrize(
        ("start", "highest", "message"),
        [
            ("0", "1000", "start=0 is out of range: give journeys per second, from 1 to 10000"),
            (None, "0.5", "max=0.5 is out of range"),
            (None, "10001", "max=10001 is out of range"),
            ("nan", "1000", "start=nan is out of range"),
            ("fast", "1000", "start=fast is not a number"),
            ("30", "20", "start=30 is above max=20"),
        ],
    )
    def test_bad_input_is_named(self, start: str | None, highest: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            rates(start, highest)


class TestUsers:
    def test_given(self) -> None:
        assert parse_users(DEFAULT_USERS) == (100, 300, 1000, 3000, 10000)
        assert parse_users("20, 50") == (20, 50)

    @pytest.mark.parametrize("given", ["0", "-1", "many", "10001", "20,,50", "1.5", "20;50"])
    def test_bad_input_is_named_with_what_is_valid(self, given: str) -> None:
        with pytest.raises(UsageError, match=r"users=.* is not valid: give integers from 1 to 10000"):
            parse_users(given)

    @pytest.mark.parametrize("given", ["50,20", "20,20"])
    def test_they_ascend(self, given: str) -> None:
        with pytest.raises(UsageError, match="above the one before it"):
            parse_users(given)

    def test_there_is_a_limit(self) -> None:
        with pytest.raises(UsageError, match="at most 20"):
            parse_users(",".join(str(count) for count in range(1, 22)))

    def test_connections(self) -> None:
        assert [connections_for(users, http=2) for users in (1, 400, 401, 10_000)] == [4, 4, 5, 100]
        assert [connections_for(users, http=1) for users in (1, 300, 10_000)] == [4, 300, 1024]

    def test_a_tape_lasts(self) -> None:
        assert tape_rate(ClosedLoop(10_000, 10.0)) > 1000
        assert tape_rate(ClosedLoop(10_000, 0.0)) == 5000.0


@pytest.mark.parametrize("profiles", [PROFILES, stress.PROFILES])
def test_profiles_are_listed_when_the_name_is_wrong(profiles: Any) -> None:
    with pytest.raises(UsageError, match="profile=huge is not known: choose one of smoke, quick, full"):
        profile_of(profiles, "huge")


class TestLength:
    def test_a_step_is_as_long_as_p99_needs(self) -> None:
        quick = PROFILES["quick"]
        assert step_s(1000, quick, "search") == quick.shortest_s
        assert step_s(30, quick, "search") * 30 >= LEAST_JOURNEYS
        assert step_s(1, quick, "search") == quick.longest_s

    def test_a_confirmation_is_longer_and_bounded(self) -> None:
        for profile in PROFILES.values():
            for rate in (1, 20, 80, 500):
                assert step_s(rate, profile, "confirm") >= step_s(rate, profile, "search")
                assert step_s(rate, profile, "confirm") <= 4 * profile.confirm_s

    def test_no_rate_is_tried_that_could_not_be_confirmed(self) -> None:
        for profile in PROFILES.values():
            lowest = -(-LEAST_JOURNEYS // (4 * profile.confirm_s))
            assert step_s(lowest, profile, "confirm") * lowest >= LEAST_JOURNEYS


class TestVerdict:
    def test_a_search_goes_by_p99_itself(self) -> None:
        assert judged(step(p99=99.0, p99_high=140.0), 100.0)["holds"] is True
        assert judged(step(p99=100.0), 100.0)["holds"] is False

    def test_a_confirmation_goes_by_the_upper_end_of_the_interval(self) -> None:
        assert judged(step(phase="confirm", p99_high=99.0), 100.0)["holds"] is True
        assert judged(step(phase="confirm", p99=80.0, p99_high=101.0), 100.0)["holds"] is False

    def test_too_few_journeys_confirm_nothing(self) -> None:
        found = judged(step(phase="confirm", journeys=300, planned=300, p99_high=None), 100.0)
        assert found["reasons"] == ["300 journeys are too few for p99"]

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"failures": 1}, "failed journeys: 0.12 %, not below 0.1 %"),
            ({"journeys": 0, "planned": 0}, "failed journeys: not measured, not below 0.1 %"),
            ({"journeys": 799}, "journeys on the tape that were not sent: 1, not at most 0"),
        ],
    )
    def test_what_else_must_hold(self, changes: dict[str, Any], reason: str) -> None:
        found = judged(step(**changes), 100.0)
        assert found["holds"] is False
        assert reason in found["reasons"][0]

    def test_what_the_search_is_told(self) -> None:
        near = seen(judged(step(p99=320.0), 100.0), 100.0)
        assert (near.rate, near.holds, near.clear, near.generator_limited) == (80.0, False, False, False)
        assert seen(judged(step(p99=500.0), 100.0), 100.0).clear
        assert seen(judged(step(failures=16), 100.0), 100.0).clear
        assert seen(judged(step(generator_cores=0.9), 100.0), 100.0).generator_limited


def test_most_under_way() -> None:
    none = np.array([], dtype=np.int64)
    assert most_under_way(none, none) == 0
    # The second begins as the first ends, the third overlaps both of the last two.
    assert most_under_way(np.array([0, 10, 12, 15]), np.array([10, 20, 16, 18])) == 3


def rig_of_two(folder: Path, error: Exception) -> tuple[Rig, Callable[[Topology, TimeLeft], SearchResult]]:
    """A rig of two topologies, and what measures the second of them and fails for the first."""
    topologies = (load_topology("rest"), load_topology("grpc"))
    recorder = Recorder(folder, "sweep", {"name": "sweep"}, {})
    rig = Rig(Setup(topologies, Switches(), WORKLOAD, 1, load_ports({})), folder, recorder, Progress())

    def measure(topology: Topology, _: TimeLeft) -> SearchResult:
        if topology.name == "rest":
            raise error
        return SearchResult(40.0, 45.0, "shop", (40.0,))

    return rig, measure


@pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`")
@pytest.mark.parametrize("error", [ComponentDiedError("order", "order has ended"), JaegerError("no answer")])
def test_a_topology_that_cannot_go_on_is_noted_and_the_next_one_begins(tmp_path: Path, error: Exception) -> None:
    rig, measure = rig_of_two(tmp_path, error)
    rig.each_topology(60.0, measure)
    stopped, measured = rig.recorder.document["results"].values()
    assert (stopped["rate"], stopped["stopped"]) == (None, str(error))
    assert (measured["rate"], measured["stopped"]) == (40.0, None)


@pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`")
@pytest.mark.parametrize("error", [AlreadyRunningError("another run"), PortError("port 1"), NotInstalledError("envoy")])
def test_what_stands_in_the_way_of_every_topology_ends_the_run(tmp_path: Path, error: Exception) -> None:
    rig, measure = rig_of_two(tmp_path, error)
    with pytest.raises(type(error), match=str(error)):
        rig.each_topology(60.0, measure)
    assert not rig.recorder.document["results"]


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    """A sweep of two topologies that is over."""
    made = synthetic_document()
    recorder = Recorder(tmp_path, "sweep", made["manifest"], made["options"])
    for one in made["steps"]:
        recorder.step(one)
    for topology, result in made["results"].items():
        recorder.result(topology, result)
    return recorder


def test_every_step_is_on_disk_at_once(recorder: Recorder, tmp_path: Path) -> None:
    assert read_json(tmp_path / "sweep.json")["complete"] is False
    assert len(read_json(tmp_path / "sweep.json")["steps"]) == 8
    recorder.end(complete=True)
    assert read_json(tmp_path / "sweep.json")["complete"] is True
    assert read_capacity(tmp_path / "sweep.json") == recorder.document
    rows = pl.read_parquet(tmp_path / "steps.parquet")
    assert rows.height == 8
    assert rows.columns == steps_frame(recorder.document).columns
    assert {"errors_timeout", "cpu_s_edge", "gates_failed", "p99_high_ms", "gate_other_cores", "holds"} <= set(
        rows.columns
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("0,1001", "connections=1001 is not valid: give an integer from 0 to 1000"),
        ("10,x", "connections=x is not valid"),
        ("10,10", "connections=10,10 is not valid: each number must be above the one before it"),
    ],
)
def test_numbers_of_connections_ascend(given: str, told: str) -> None:
    assert ascending("connections", "0, 10,1000", 0, MOST_CONNECTIONS) == (0, 10, 1000)
    with pytest.raises(UsageError, match=told):
        ascending("connections", given, 0, MOST_CONNECTIONS)


class TestOverload:
    PLAN = StepPlan("overload", 10.0, 50.0, factor=2.0)

    def journeys(self, *slow: tuple[float, float]) -> pl.DataFrame:
        """A journey every 100 ms for 10 s that takes 10 ms, and 300 ms in the given times."""
        at_s = [number / 10 for number in range(100)]
        took_s = [0.3 if any(begin <= at < end for begin, end in slow) else 0.01 for at in at_s]
        return pl.DataFrame(
            {
                "intended_ns": [int(at * 1e9) for at in at_s],
                "latency_ns": [int(took * 1e9) for took in took_s],
                "outcome": ["ok"] * len(at_s),
            }
        )

    def test_a_load_is_a_peak_between_two_halves(self) -> None:
        assert self.PLAN.steps == (0.5, 2.0, 2.0, 0.5, 0.5)
        peak = in_peak(self.journeys(), self.PLAN)
        assert (peak["intended_ns"].min(), peak.height) == (2_000_000_000, 40)

    @pytest.mark.parametrize(
        ("slow", "expected"),
        [
            ((), 0.0),
            (((2.0, 6.0),), 0.0),
            (((5.0, 7.5),), 2.0),
            (((2.0, 6.4), (8.0, 8.5)), 3.0),
            (((2.0, 10.0),), None),
        ],
    )
    def test_it_is_over_when_all_is_well_for_good(
        self, slow: tuple[tuple[float, float], ...], expected: float | None
    ) -> None:
        assert recovery_s(self.journeys(*slow), self.PLAN, 100.0) == expected

    def test_a_workload_keeps_all_but_its_arrivals(self) -> None:
        made = in_stairs(WORKLOAD, (0.5, 2.0))
        assert made["arrival"] == {"process": "staircase", "steps": [0.5, 2.0]}
        assert {"name", "mix"} <= set(made)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("rest:fast", "capacity=rest:fast: give journeys per second, from 1 to 10000"),
            ("rest:0", "capacity=rest:0: give journeys per second, from 1 to 10000"),
            ("soap:9", "capacity=soap:9: soap is not measured; measured are rest, grpc"),
        ],
    )
    def test_a_capacity_that_none_can_be(self, given: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            parse_capacity(given, ["rest", "grpc"])

    def test_a_capacity_for_some(self) -> None:
        assert parse_capacity("grpc: 120", ["rest", "grpc"]) == {"grpc": 120.0}
