"""An experiment that runs until it is precise: its number of blocks, which interruptions do not change."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiment.blocks import Makers
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Plan, arms_of
from experiment.plan.profiles import PROFILES
from experiment.plan.resume import take_up
from experiment.results.folder import ResultsFolder, read_json
from experiment.runner import begin, run_trials
from experiment.trial.finished_trials import TrialFiles
from hops.run.files import MANIFEST
from hops.statistics.intervals import t_quantile
from hops.statistics.two_stage import half_width_of
from mesh.description.ports import load_ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology

from ..needs import needs_generator
from .fake_trials import FakeRuns

WORKLOAD = Path(__file__).resolve().parents[2] / "workloads" / "default.yaml"
PORTS = load_ports({**os.environ, "SHOP_PORT_BASE": "24700"})
FIRST = 5
pytestmark = needs_generator


def plan(precision: float = 0.05, blocks: int = FIRST) -> Plan:
    arms = arms_of([load_topology(name) for name in ("rest", "grpc")], Switches())
    profile = replace(PROFILES["smoke"], duration_s=1)
    return Plan("compare", "compare", arms, blocks, profile, 1, WORKLOAD, precision=precision)


def scattering(*first: float, then: float = 0.0) -> Callable[[str, int], float]:
    """Makes latencies of rest that exceed grpc's by a factor for each block, and by `then` in later blocks."""

    def latency_ms(name: str, _: int) -> float:
        block, topology = name.split("-")
        index = int(block) - 1
        off = first[index] if index < len(first) else then * (-1) ** index
        return 10.0 * math.exp(off if topology == "rest" else 0.0)

    return latency_ms


CALM = (0.05, -0.05, 0.05, -0.05, 0.0)
"""Logarithms of the ratio in the first five blocks, with a standard deviation of 5 %."""


def width_after_first_stage() -> float:
    return t_quantile(FIRST - 1) * 0.05 / math.sqrt(FIRST)


def run(results: Path, runs: FakeRuns, one: Plan | None = None, *, retry: int = 0) -> int:
    """Begins or resumes an experiment; returns the number of blocks in its conclusion."""
    try:
        folder, planned = take_up(results, "latest", "compare")
    except UsageError:
        planned = one or plan()
        folder = begin(planned, results)
    return run_trials(planned, folder, PORTS, conclude=lambda: conclude(folder), retry=retry, makers=Makers(run=runs))


def conclude(folder: ResultsFolder) -> int:
    blocks = {row["block"] for row in TrialFiles(folder.path / "trials").records()}
    folder.publish(latest=False)
    return len(blocks)


@pytest.fixture(autouse=True)
def _no_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiment.blocks.Blocks.gather", lambda _: None)


def test_a_precise_first_stage_ends_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = math.expm1(width_after_first_stage()) + 0.001
    assert run(tmp_path, FakeRuns(latency_ms=scattering(*CALM)), plan(asked)) == FIRST
    assert "trials of the first 5 blocks scatter by 3.5 %: precision=6.5% is reached" in capsys.readouterr().err


def test_as_many_blocks_run_as_the_first_stage_calls_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = math.ceil(FIRST * (width_after_first_stage() / half_width_of(0.05)) ** 2)
    assert wanted > FIRST
    runs = FakeRuns(latency_ms=scattering(*CALM, then=0.01))
    assert run(tmp_path, runs) == wanted
    assert len(runs.ran) == 2 * wanted
    output = capsys.readouterr().err
    assert f"scatter by 3.5 %: {wanted} blocks will do for precision=5% if the others scatter alike; about" in output
    assert "left of the first stage" in output
    assert f"trials of the first {wanted} blocks scatter by" in output


def test_more_run_if_later_blocks_scatter_more_than_the_first(tmp_path: Path) -> None:
    planned = math.ceil(FIRST * (width_after_first_stage() / half_width_of(0.05)) ** 2)
    assert run(tmp_path, FakeRuns(latency_ms=scattering(*CALM, then=0.09))) > planned


def test_a_precision_that_takes_too_many_blocks_ends_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FakeRuns(latency_ms=scattering(*CALM)), plan(0.005)) == FIRST
    needed = math.ceil(FIRST * (width_after_first_stage() / half_width_of(0.005)) ** 2)
    output = capsys.readouterr().err
    assert f"precision=0.5% takes {needed:,} blocks, and at most {MAX_BLOCKS} are run: ending here" in output


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[str]]:
    """Number of blocks of an uninterrupted experiment, and its trials in order."""
    runs = FakeRuns(latency_ms=scattering(*CALM, then=0.06))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiment.blocks.Blocks.gather", lambda _: None)
        return run(tmp_path_factory.mktemp("whole"), runs, plan(0.06)), runs.ran


# The first trial, a trial within the first stage, its last, the first of the second stage, the last trial.
@pytest.mark.parametrize("moment", [0, 4, 2 * FIRST - 1, 2 * FIRST, -1])
def test_a_run_interrupted_anywhere_resumes_to_the_same_blocks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], whole: tuple[int, list[str]], moment: int
) -> None:
    blocks, trials = whole
    assert blocks > FIRST
    latency_ms, at = scattering(*CALM, then=0.06), trials[moment]
    first, second = FakeRuns({at: [KeyboardInterrupt()]}, latency_ms), FakeRuns(latency_ms=latency_ms)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, first, plan(0.06))
    capsys.readouterr()
    assert run(tmp_path, second) == blocks
    assert [*first.ran[:-1], *second.ran] == trials
    # The last trial alone is left.
    assert moment != -1 or "if the others scatter alike; about 10 s left" in capsys.readouterr().err


def test_ctrl_c_in_the_second_stage_reports_how_many_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = FakeRuns({f"{FIRST + 1}-rest": [KeyboardInterrupt()]}, scattering(*CALM, then=0.01))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, runs)
    planned = math.ceil(FIRST * (width_after_first_stage() / half_width_of(0.05)) ** 2)
    assert f"{len(runs.ran) - 1} of {2 * planned} trials are finished" in capsys.readouterr().err


@pytest.mark.parametrize(("interrupted_in", "repeated"), [(FIRST, ["1-rest"]), (FIRST + 2, [])])
def test_a_failing_trial_is_repeated_only_before_its_stage_has_decided(
    tmp_path: Path, interrupted_in: int, repeated: list[str]
) -> None:
    latency_ms = scattering(*CALM, then=0.01)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, FakeRuns({"1-rest": [1], f"{interrupted_in}-rest": [KeyboardInterrupt()]}, latency_ms))
    again = FakeRuns(latency_ms=latency_ms)
    run(tmp_path, again, retry=1)
    assert repeated or "1-rest" not in again.ran
    assert again.ran[: len(repeated)] == repeated


def test_the_manifest_has_the_request_and_the_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    folder = begin(plan(0.005), tmp_path)
    runs = FakeRuns(latency_ms=scattering(*CALM))
    manifest = run_trials(
        plan(0.005), folder, PORTS, conclude=lambda: read_json(folder.path / MANIFEST), makers=Makers(run=runs)
    )
    assert manifest["blocks"] == FIRST
    assert manifest["precision"].pop("scatter") == pytest.approx(0.05 / math.sqrt(2), rel=0.01)
    assert manifest["precision"] == {
        "asked": 0.005,
        "first_stage": FIRST,
        "ran": FIRST,
        "needed": math.ceil(FIRST * (width_after_first_stage() / half_width_of(0.005)) ** 2),
    }


def test_a_precision_needs_two_topologies_and_a_first_stage() -> None:
    with pytest.raises(
        UsageError, match="precision= applies to the ratio of two topologies: give at least two topologies"
    ):
        replace(plan(), arms=plan().arms[:1])
    with pytest.raises(
        UsageError, match="blocks=4 is too few to decide how many blocks precision= takes: give at least 5"
    ):
        plan(blocks=4)
