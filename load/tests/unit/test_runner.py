"""An experiment survives any interruption: finished trials never run again and are never lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from experiment.blocks import Makers, Measure, expected_s
from experiment.errors import ParityError, UsageError
from experiment.kinds import compare
from experiment.kinds.isolate import isolate_arms
from experiment.kinds.ladder import ladder_arms
from experiment.kinds.rtt import rtt_arms
from experiment.plan.arms_in_blocks import Arm, Plan, arms_of
from experiment.plan.axis import compared_arms
from experiment.plan.profiles import PROFILES
from experiment.plan.resume import take_up
from experiment.runner import begin, load_line, run_plan
from experiment.trial.finished_trials import TrialFiles
from hops.gates.verdict import failing_gates
from mesh.description.ports import load_ports
from mesh.description.switches import Switches, parse_switches
from mesh.description.topology import load_topology
from mesh.errors import ComponentDiedError, NotInstalledError

from ..needs import needs_generator
from .fake_trials import FakeRuns

WORKLOAD = Path(__file__).resolve().parents[2] / "workloads" / "default.yaml"
PORTS = load_ports({**os.environ, "SHOP_PORT_BASE": "24600"})
pytestmark = needs_generator


class AtTheEndError(Exception):
    """Ends an experiment after its trials, because fake trials have no figures."""


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise AtTheEndError

    monkeypatch.setattr("experiment.blocks.Blocks.gather", stop)


def plan(blocks: int = 2, **changes: Any) -> Plan:
    arms = arms_of([load_topology(name) for name in ("rest", "grpc")], Switches())
    return replace(
        Plan("compare", "compare", arms, blocks, replace(PROFILES["smoke"], duration_s=1), 1, WORKLOAD), **changes
    )


def run(results: Path, runs: FakeRuns, *, retry: int = 0, one: Plan | None = None) -> None:
    """Begins or resumes an experiment."""
    try:
        folder, planned = take_up(results, "latest", "compare")
    except UsageError:
        planned = one or plan()
        folder = begin(planned, results)
    run_plan(planned, folder, PORTS, retry=retry, makers=Makers(run=runs))


def finish(results: Path, runs: FakeRuns, **how: Any) -> None:
    with pytest.raises(AtTheEndError):
        run(results, runs, **how)


def records(results: Path) -> list[tuple[str, int, bool, bool]]:
    (folder,) = results.glob("*.incomplete")
    return [
        (f"{row['block']}-{row['topology']}", row["attempt"], row["used"], not failing_gates(row["gates"]))
        for row in TrialFiles(folder / "trials").records()
    ]


def names(one: Plan) -> list[str]:
    return [planned.name for planned in one.trials()]


def test_every_trial_runs_once_in_the_plans_order(tmp_path: Path) -> None:
    runs = FakeRuns()
    finish(tmp_path, runs)
    assert runs.ran == names(plan())
    assert records(tmp_path) == [(name, 1, True, True) for name in names(plan())]


def test_nothing_begins_if_an_arm_s_edge_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONG_BIN", "/no/kong")
    arms = compared_arms([load_topology("hybrid")], {"edges": "envoy,kong"}, {})
    with pytest.raises(NotInstalledError, match="KONG_BIN=/no/kong is not a program"):
        begin(plan(arms=arms), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_parity_is_checked_in_full_only_in_the_first_block(tmp_path: Path) -> None:
    runs = FakeRuns()
    finish(tmp_path, runs, one=plan(blocks=3))
    assert runs.in_full == [True, True, False, False, False, False]


@pytest.mark.parametrize("crash", [KeyboardInterrupt(), ComponentDiedError("order", "order has ended")])
@pytest.mark.parametrize("moment", [0, 1, 2, 3])
def test_an_interrupted_experiment_resumes_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], crash: BaseException, moment: int
) -> None:
    stopped_at = names(plan())[moment]
    first, second = FakeRuns({stopped_at: [crash]}), FakeRuns()
    with pytest.raises(type(crash)):
        run(tmp_path, first)
    output = capsys.readouterr().err
    assert (f"{moment} of 4 trials are finished" in output) == (moment > 0)
    finish(tmp_path, second)
    assert second.ran == names(plan())[moment:]
    assert records(tmp_path) == [(name, 1, True, True) for name in names(plan())]


def test_a_parity_failure_ends_the_run_and_keeps_finished_trials(tmp_path: Path) -> None:
    names_of_plan = names(plan())
    wrong = ParityError("grpc", 90, [])
    with pytest.raises(ParityError, match="grpc"):
        run(tmp_path, FakeRuns({names_of_plan[1]: [wrong]}))
    assert records(tmp_path) == [(names_of_plan[0], 1, True, True)]


@pytest.mark.parametrize(("noisy", "warnings"), [((1, 2), 1), ((1, 2, 3, 4), 1), ((1,), 0), ((2, 3), 0)])
def test_a_run_warns_early_if_its_first_trials_are_noisy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], noisy: tuple[int, ...], warnings: int
) -> None:
    finish(tmp_path, FakeRuns(other_cores=lambda number: 0.5 if number in noisy else 0.0))
    output = capsys.readouterr().err
    assert output.count("the first 2 trials are NOISY because of the machine (cc1 (pid 12) 0.50 cores)") == warnings
    if warnings:
        assert output.index("the first 2 trials") < output.index("trial 3 of 4")


def test_a_failing_trial_is_kept_and_counts(tmp_path: Path) -> None:
    one = names(plan())[1]
    finish(tmp_path, FakeRuns({one: [1]}))
    assert (one, 1, True, False) in records(tmp_path)
    assert len(records(tmp_path)) == 4


@pytest.mark.parametrize(("outcomes", "attempts"), [([1, 0], [False, True]), ([1, 1], [False, False])])
def test_retry_repeats_a_failing_trial_once_and_keeps_both(
    tmp_path: Path, outcomes: list[int | BaseException], attempts: list[bool]
) -> None:
    one = names(plan())[2]
    finish(tmp_path, FakeRuns({one: outcomes}), retry=1)
    of_one = [row for row in records(tmp_path) if row[0] == one]
    assert of_one == [(one, 1, False, attempts[0]), (one, 2, True, attempts[1])]
    assert len(records(tmp_path)) == 5


def test_a_repeated_trial_runs_again_at_once_within_its_block(tmp_path: Path) -> None:
    runs, order = FakeRuns({names(plan())[0]: [1, 0], names(plan())[1]: [1, 1]}), names(plan())
    finish(tmp_path, runs, retry=1)
    assert runs.ran == [order[0], order[0], order[1], order[1], *order[2:]]


@pytest.mark.parametrize("retry", [0, 1])
def test_a_trial_at_a_lower_machine_speed_is_noisy_and_repeated_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], retry: int
) -> None:
    one = plan(blocks=3)
    runs, order = FakeRuns(machine_speed=lambda number: 17.0 if number == 5 else 20.0), names(one)
    finish(tmp_path, runs, retry=retry, one=one)
    assert runs.ran == [*order[:5], *order[4:5] * retry, *order[5:]]
    noisy = "trial 5 of 6 finished: NOISY (deviation of the machine's speed from that of other trials)"
    assert noisy in capsys.readouterr().err


def test_if_only_ratios_count_blocks_may_differ_in_speed_but_not_trials_of_a_block(tmp_path: Path) -> None:
    one = replace(plan(blocks=4), ratios=True)
    # Blocks 3 and 4 are slower; then the last trial is slower than the other of its block, so both are repeated.
    runs = FakeRuns(machine_speed=lambda number: {1: 20, 2: 20, 3: 20, 4: 20, 8: 14}.get(number, 17.0))
    finish(tmp_path, runs, retry=1, one=one)
    assert runs.ran == [*names(one), names(one)[-1]]


def test_an_early_trial_whose_speed_turns_out_to_be_unusual_is_repeated_at_the_end(tmp_path: Path) -> None:
    one = plan(blocks=3)
    runs, order = FakeRuns(machine_speed=lambda number: 24.0 if number == 1 else 20.0), names(one)
    with pytest.raises(AtTheEndError):
        run(tmp_path, runs, retry=1, one=one)
    assert runs.ran == [*order, order[0]]
    assert runs.in_full == [True, True, *[False] * 4, True]  # so all arms have the same sample of bytes


def test_the_default_comparison_takes_25_minutes_at_most() -> None:
    defaults = {name: parameter.default for name, parameter in signature(compare.command).parameters.items()}
    arms = arms_of([load_topology(name) for name in defaults["topologies"].split(",")], Switches())
    whole = plan(blocks=int(defaults["blocks"]), arms=arms, profile=PROFILES[defaults["profile"]])
    assert (whole.blocks, len(whole.trials())) == (12, 48)
    assert expected_s(whole) <= 25 * 60


def test_a_start_does_not_import_modules_of_analysis() -> None:
    needless = {"aiohttp", "jinja2", "numpy", "polars", "scipy"}
    output = f"import sys, experiment.kinds.bench, experiment.runner; print(sorted({needless} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", output], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_modules_of_analysis_load_during_a_trial(tmp_path: Path) -> None:
    runs = FakeRuns()
    finish(tmp_path, runs)
    for meanwhile in runs.meanwhile:
        meanwhile()
    assert {"hops.analysis.summary", "hops.report.chart"} <= set(sys.modules)


def test_a_resumed_experiment_may_repeat_failed_trials(tmp_path: Path) -> None:
    one = names(plan())[0]
    finish(tmp_path, FakeRuns({one: [1]}))
    again = FakeRuns()
    finish(tmp_path, again, retry=1)
    assert again.ran == [one]


def test_the_time_left_is_that_of_trials_that_have_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = names(plan())
    finish(tmp_path, FakeRuns({first: [1], second: [1]}))
    capsys.readouterr()
    finish(tmp_path, FakeRuns({first: [1]}), retry=1)
    output = capsys.readouterr().err
    assert "2 of 4 trials are finished; about 20 s left" in output
    said = [line for line in output.splitlines() if " finished: " in line]
    assert [" left" in line for line in said] == [True, False]


@pytest.mark.parametrize("step_h", [1, -1])
def test_only_the_last_chosen_trial_may_be_repeated_even_if_the_clock_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_h: int
) -> None:
    class Stepping:
        at = datetime.now(UTC)

        @classmethod
        def now(cls, _: object) -> datetime:
            cls.at += timedelta(hours=step_h)
            return cls.at

    monkeypatch.setattr("experiment.blocks.datetime", Stepping)

    def choose(one: Plan, measure: Measure, *_: Any) -> dict[str, Any]:
        for arm in one.arms:
            measure(arm)
        return {}

    first, second = FakeRuns({"1-rest": [1, 1], "1-grpc": [1, 1]}), FakeRuns()
    one = plan(blocks=1, chosen=True)
    for runs, retry in ((first, 1), (second, 2)):
        folder = begin(one, tmp_path) if runs is first else take_up(tmp_path, "latest", "compare")[0]
        with pytest.raises(AtTheEndError):
            run_plan(one, folder, PORTS, retry=retry, makers=Makers(run=runs, choose=choose))
    assert first.ran == ["1-rest", "1-rest", "1-grpc", "1-grpc"]
    assert second.ran == ["1-grpc"]


def test_a_later_change_of_the_workload_changes_nothing(tmp_path: Path) -> None:
    workload = tmp_path / "mine.yaml"
    workload.write_text(WORKLOAD.read_text())
    results = tmp_path / "results"
    results.mkdir()
    with pytest.raises(KeyboardInterrupt):
        run(results, FakeRuns({names(plan())[1]: [KeyboardInterrupt()]}), one=plan(workload=workload))
    workload.unlink()
    finish(results, FakeRuns())
    assert len(records(results)) == 4


def test_another_tape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, FakeRuns({names(plan())[1]: [KeyboardInterrupt()]}))
    (noted,) = tmp_path.glob("*.incomplete/tapes/sha256.json")
    noted.write_text(noted.read_text().replace('"load": "', '"load": "0'))
    with pytest.raises(UsageError, match="a different tape"):
        run(tmp_path, FakeRuns())


def test_a_run_that_could_not_start_does_not_hide_an_interrupted_run(tmp_path: Path) -> None:
    for name, ends_at in (("first", 2), ("second", 0)):
        one = plan(name=name)
        with pytest.raises(KeyboardInterrupt):
            run_plan(
                one,
                begin(one, tmp_path),
                PORTS,
                makers=Makers(run=FakeRuns({names(one)[ends_at]: [KeyboardInterrupt()]})),
            )
    assert take_up(tmp_path, "latest", "compare")[0].final.name.endswith("first")


def test_without_an_interrupted_run_resuming_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="resume=latest is not an interrupted compare; interrupted runs: none"):
        take_up(tmp_path, "latest", "compare")


@pytest.mark.parametrize(
    ("kind", "arms"),
    [
        ("ladder", ladder_arms(load_topology("hybrid"), "no-edge,edge,untraced")),
        ("isolate", isolate_arms(load_topology("hybrid"), "bulk_lines", {})),
        ("rtt", rtt_arms([load_topology("hybrid")], "0,20,50", {})),
    ],
)
def test_an_interrupted_experiment_is_resumed_by_its_own_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, arms: tuple[Arm, ...]
) -> None:
    one = plan(kind=kind, name=kind, arms=arms)
    with pytest.raises(KeyboardInterrupt):
        run_plan(one, begin(one, tmp_path), PORTS, makers=Makers(run=FakeRuns({names(one)[2]: [KeyboardInterrupt()]})))
    assert "2 of 6 trials are finished" in (output := capsys.readouterr().err)
    assert f"`make {kind} resume=latest results={tmp_path}` resumes the run." in output
    folder, again = take_up(tmp_path, "latest", kind)
    assert again.arms == arms
    runs = FakeRuns()
    with pytest.raises(AtTheEndError):
        run_plan(again, folder, PORTS, makers=Makers(run=runs))
    assert runs.ran == names(one)[2:]


def test_an_experiment_whose_command_cannot_resume_it_does_not_say_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = plan(kind="proof", name="prove-resume")
    with pytest.raises(KeyboardInterrupt):
        run_plan(one, begin(one, tmp_path), PORTS, makers=Makers(run=FakeRuns({names(one)[2]: [KeyboardInterrupt()]})))
    assert re.search(r"2 of 4 trials are finished and kept in .*-prove-resume\.incomplete\.\n", capsys.readouterr().err)


def test_the_load_names_the_network() -> None:
    profile = {"rate": 20, "duration_s": 60}
    near = Switches().as_dict()
    arms = {"rest": near, "grpc": near}
    manifest = {"closed": None, "profile": profile, "switches": near, "arms": arms, "topologies": dict.fromkeys(arms)}
    assert load_line(manifest) == "open loop, 20 journeys a second for 60 s"
    far = parse_switches(network="4g").as_dict()
    assert load_line({**manifest, "arms": {"rest": far, "grpc": far}, "switches": far}) == (
        "open loop, 20 journeys a second for 60 s; "
        "network: 4g (70 ms, 12/12 Mbit/s), connections open from an earlier visit; TLS 1.3"
    )
    assert load_line({**manifest, "arms": {"rest": far, "grpc": near}, "switches": far}).endswith(
        "; network: not the same for all arms"
    )
