"""What a user may ask of a sweep or a stress test, how steps are judged, and what is shown of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from experiment.capacity.document import Recorder, TopologyResult, steps_frame, suspect_reasons
from experiment.capacity.report import write_report
from experiment.capacity.step import Step, most_under_way
from experiment.capacity.stress import connections_for, parse_connections, parse_users, tape_rate
from experiment.capacity.stress import profile_named as stress_profile
from experiment.capacity.sweep import LEAST_JOURNEYS, PROFILES, judged, profile_named, seen, step_s
from experiment.capacity.terminal import capacity_view
from experiment.commands.capacity import objective_ms, rates
from experiment.errors import UsageError
from experiment.plan.closed_loop import ClosedLoop
from experiment.results.folder import read_json
from hops.terminal.tables import terminal


def step(**changes: Any) -> Step:
    """A step at 80 journeys a second that is as it should be."""
    found = Step(
        topology="hybrid",
        phase="search",
        number=1,
        rate=80.0,
        users=None,
        think_s=None,
        connections=4,
        duration_s=10.0,
        began="2026-11-21T04:00:00.000+00:00",
        tape_sha256="abc",
        journeys_planned=800,
        journeys_sent=800,
        throughput_per_s=79.5,
        p50_ms=11.0,
        p99_ms=62.0,
        p99_low_ms=55.0,
        p99_high_ms=71.0,
        max_ms=90.0,
        errors={"client": 0, "server": 0, "timeout": 0, "wrong_answer": 0},
        messages={},
        failure_share=0.0,
        under_way_most=9,
        start_lag_p99_ms=0.2,
        start_lag_limit_ms=1.0,
        generator_cores=0.1,
        generator_memory_mb=40.0,
        system_cores=0.9,
        database_cores=0.1,
        telemetry_cores=0.01,
        memory_mb=600.0,
        other_cores=0.02,
        steal_share=0.0,
        cores={"client": 0.1, "edge": 0.1, "postgres": 0.1},
        generator_limits=[],
        suspect=[],
        holds=None,
        reasons=[],
    )
    found.update(changes)  # type: ignore[typeddict-item]
    return found


class TestObjective:
    @pytest.mark.parametrize(("given", "expected"), [("100ms", 100.0), ("1ms", 1.0), ("0.5s", 500.0), ("5s", 5000.0)])
    def test_given(self, given: str, expected: float) -> None:
        assert objective_ms(given) == expected

    @pytest.mark.parametrize("given", ["foo", "", "100", "0ms", "0.5ms", "6s", "-1s", "1m", "٣ms"])
    def test_bad_input_is_named_with_what_is_valid(self, given: str) -> None:
        with pytest.raises(UsageError, match=rf"objective={given} is not valid: give a duration from 1ms to 5s"):
            objective_ms(given)


class TestRates:
    @pytest.mark.parametrize(
        ("start", "highest", "expected"),
        [(None, None, (20.0, 1000.0)), ("50", None, (50.0, 1000.0)), (None, "5", (5.0, 5.0)), ("2", "2", (2.0, 2.0))],
    )
    def test_given(self, start: str | None, highest: str | None, expected: tuple[float, float]) -> None:
        assert rates(start, highest) == expected

    @pytest.mark.parametrize(
        ("start", "highest", "message"),
        [
            ("0", None, "start=0 is out of range: give journeys a second, from 1 to 10000"),
            (None, "0.5", "max=0.5 is out of range"),
            (None, "10001", "max=10001 is out of range"),
            ("nan", None, "start=nan is out of range"),
            ("fast", None, "start=fast is not a number"),
            ("30", "20", "start=30 is above max=20"),
        ],
    )
    def test_bad_input_is_named(self, start: str | None, highest: str | None, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            rates(start, highest)


class TestUsers:
    def test_given(self) -> None:
        assert parse_users("") == (100, 300, 1000, 3000, 10000)
        assert parse_users("20, 50") == (20, 50)

    @pytest.mark.parametrize("given", ["0", "-1", "many", "10001", "20,,50", "1.5", "20;50"])
    def test_bad_input_is_named_with_what_is_valid(self, given: str) -> None:
        with pytest.raises(UsageError, match=r"users=.* is not valid: give whole numbers from 1 to 10000"):
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
        assert (parse_connections(None), parse_connections("7")) == (0, 7)
        with pytest.raises(UsageError, match=r"connections=257 .* from 1 to 256"):
            parse_connections("257")

    def test_a_tape_lasts(self) -> None:
        assert tape_rate(ClosedLoop(10_000, 10.0)) > 1000
        assert tape_rate(ClosedLoop(10_000, 0.0)) == 5000.0


@pytest.mark.parametrize("named", [profile_named, stress_profile])
def test_profiles_are_listed_when_the_name_is_wrong(named: Any) -> None:
    with pytest.raises(UsageError, match="profile=huge is not known: choose one of smoke, quick, full"):
        named("huge")


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
        assert judged(step(p99_ms=99.0, p99_high_ms=140.0), 100.0)["holds"] is True
        assert judged(step(p99_ms=100.0), 100.0)["holds"] is False

    def test_a_confirmation_goes_by_the_upper_end_of_the_interval(self) -> None:
        assert judged(step(phase="confirm", p99_high_ms=99.0), 100.0)["holds"] is True
        assert judged(step(phase="confirm", p99_ms=80.0, p99_high_ms=101.0), 100.0)["holds"] is False

    def test_too_few_journeys_confirm_nothing(self) -> None:
        found = judged(step(phase="confirm", journeys_sent=300, journeys_planned=300, p99_high_ms=None), 100.0)
        assert found["reasons"] == ["300 journeys are too few for p99"]

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"failure_share": 0.001}, "0.10% failed"),
            ({"failure_share": None}, "nothing was sent"),
            ({"journeys_sent": 799}, "1 journeys were not sent"),
        ],
    )
    def test_what_else_must_hold(self, changes: dict[str, Any], reason: str) -> None:
        found = judged(step(**changes), 100.0)
        assert found["holds"] is False
        assert reason in found["reasons"][0]

    def test_what_the_search_is_told(self) -> None:
        near = seen(judged(step(p99_ms=320.0), 100.0), 100.0)
        assert (near.rate, near.holds, near.clear, near.generator_limited) == (80.0, False, False, False)
        assert seen(judged(step(p99_ms=500.0), 100.0), 100.0).clear
        assert seen(judged(step(failure_share=0.02), 100.0), 100.0).clear
        assert seen(judged(step(generator_limits=["start_lag_p99_ms"]), 100.0), 100.0).generator_limited


def test_most_under_way() -> None:
    none = np.array([], dtype=np.int64)
    assert most_under_way(none, none) == 0
    # The second begins as the first ends, the third overlaps both of the last two.
    assert most_under_way(np.array([0, 10, 12, 15]), np.array([10, 20, 16, 18])) == 3


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    """A sweep of two topologies: one confirmed, one whose generator was the limit."""
    manifest = {
        "git": {"commit": "abc", "dirty": False},
        "machine": {"cpu": "a processor", "cores": 2, "memory_mb": 8192, "kernel": "Linux 6"},
        "switches": {"edge": "envoy"},
        "workload": "default.yaml",
        "seed": 1,
    }
    found = Recorder(tmp_path, "sweep", "20261121T040000Z-sweep", manifest, {"objective_ms": 100.0})
    for topology, limits in (("hybrid", []), ("rest", ["generator_cores"])):
        for number, (rate, p99) in enumerate([(20.0, 40.0), (40.0, 60.0), (80.0, 300.0)], start=1):
            measured = step(topology=topology, number=number, rate=rate, p99_ms=p99, generator_limits=limits)
            found.step(judged(measured, 100.0))
        confirming = step(topology=topology, number=4, phase="confirm", rate=40.0, p99_high_ms=80.0)
        found.step(judged(confirming, 100.0))
        result = TopologyResult(
            rate=40.0,
            failed=80.0,
            limit="generator" if limits else "shop",
            tried=[40.0],
            invariants_broken=[],
            stopped=None,
        )
        found.result(topology, result)
    return found


def shown(recorder: Recorder) -> str:
    out = io.StringIO()
    terminal(out, width=110).print(capacity_view(recorder.document))
    return out.getvalue()


class TestWhatIsLeft:
    def test_names_stand_in_the_terminal_as_they_are(self, recorder: Recorder) -> None:
        text = json.dumps(recorder.document).replace('"hybrid"', '"gw[/red]"')
        out = io.StringIO()
        terminal(out, width=110).print(capacity_view(json.loads(text)))
        assert "gw[/red]" in out.getvalue()

    def test_every_step_is_on_disk_at_once(self, recorder: Recorder, tmp_path: Path) -> None:
        assert read_json(tmp_path / "sweep.json")["complete"] is False
        assert len(read_json(tmp_path / "sweep.json")["steps"]) == 8
        recorder.end(complete=True)
        assert read_json(tmp_path / "sweep.json")["complete"] is True
        rows = pl.read_parquet(tmp_path / "steps.parquet")
        assert rows.height == 8
        assert rows.columns == steps_frame(recorder.document).columns
        assert {"errors_timeout", "cores_edge", "generator_limits", "holds"} <= set(rows.columns)

    def test_the_table_marks_the_generator(self, recorder: Recorder) -> None:
        text = shown(recorder)
        assert "at least 40" in text
        assert text.count("misses, GENERATOR") == 2  # in the table, and in the curve
        assert "hybrid: VALID" in text

    def test_a_result_without_confirmation_is_suspect(self, recorder: Recorder) -> None:
        recorder.document["results"]["rest"]["rate"] = None
        assert suspect_reasons(recorder.document, "rest") == ["no rate was confirmed"]
        assert "SUSPECT: no rate was confirmed" in shown(recorder)

    def test_steal_broken_promises_and_early_ends_are_suspect(self, recorder: Recorder) -> None:
        recorder.document["steps"][3]["suspect"] = ["steal_share"]
        recorder.document["results"]["hybrid"]["invariants_broken"] = ["orders are paid"]
        assert suspect_reasons(recorder.document, "hybrid") == [
            "invariant broken: orders are paid",
            "the machine's host took more than 2 % of the CPU time (steal_share)",
        ]
        recorder.document["steps"][3]["suspect"] = ["other_cores"]
        assert suspect_reasons(recorder.document, "hybrid")[1].startswith("other programs used")
        recorder.document["results"]["hybrid"]["stopped"] = "order died"
        assert suspect_reasons(recorder.document, "hybrid")[0] == "stopped: order died"
        assert suspect_reasons(recorder.document, "grpc") == ["not finished"]

    def test_the_report_says_what_the_table_says(self, recorder: Recorder, tmp_path: Path) -> None:
        write_report(recorder.end(complete=True), tmp_path)
        page, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
        for written in (page, text):
            assert "hybrid holds 40 journeys a second with p99 under 100 ms" in written
            assert "rest holds at least 40 journeys a second" in written
            assert "SUSPECT" not in written
        assert page.count("<svg role") >= 5
        assert (tmp_path / "csv" / "capacity.csv").is_file()

    def test_an_interrupted_run_is_never_shown_without_the_word(self, recorder: Recorder, tmp_path: Path) -> None:
        write_report(recorder.end(complete=False), tmp_path)
        assert "SUSPECT" in (tmp_path / "report.html").read_text()
        assert (tmp_path / "report.md").read_text().startswith("# ")
        assert "interrupted" in (tmp_path / "report.md").read_text()
