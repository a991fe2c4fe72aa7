"""Experiments share a finished trial only if nothing that could change its outcome differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiment.generator.shopload import Tape
from experiment.generator.tapes import Load, Tapes
from experiment.plan.arms_in_blocks import Arm, Plan, arms_of
from experiment.plan.profiles import Profile
from experiment.plan.workload import workload_file
from experiment.trial.outcome import Trial
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology

from ..shared_trials import SharedTrials
from .fake_trials import fake_trial

(GRPC, HYBRID) = arms_of([load_topology(name) for name in ("grpc", "hybrid")], parse_switches(trace=0.5))
PLAN = Plan("compare", "compare", (GRPC, HYBRID), 2, Profile("tiny", 1, 5, 20.0, 1), 7, workload_file("default"))
LONGER = replace(PLAN, profile=replace(PLAN.profile, duration_s=6))


def tape(sha256: str) -> Tape:
    return Tape(Path("tape.jsonl"), sha256, 100, 7)


TAPES = Tapes(tape("parity"), tape("spot check"), {HYBRID.tape: Load(tape("warm-up"), tape("load"))})


class Trials:
    """Counts the trials that really run; each has a different number of journeys."""

    def __init__(self, root: Path) -> None:
        self.root, self.count = root, 0
        self.shared = SharedTrials(root / "kept", self._run_once)

    def _run_once(self, *arguments: Any, **_: Any) -> Trial:
        self.count += 1
        arguments[5].mkdir()
        (arguments[5] / "journeys.jsonl").write_text(f"trial {self.count}")
        return fake_trial(rows=self.count)

    def run(
        self, arm: Arm = HYBRID, tapes: Tapes = TAPES, plan: Plan = PLAN, block: int = 1, **options: Any
    ) -> tuple[int, str]:
        """Runs a trial; returns its number of journeys, and a file of its folder."""
        folder = self.root / f"results-{len(list(self.root.iterdir()))}"
        system: Any = SimpleNamespace(trial=f"20260101T000000Z-compare/{block}-{arm.label}")
        shopload: Any = None
        trial = self.shared.run(system, shopload, tapes, arm, plan, folder, say=print, **options)
        return trial.journeys.height, (folder / "journeys.jsonl").read_text()


@pytest.fixture
def trials(tmp_path: Path) -> Trials:
    return Trials(tmp_path)


def test_the_same_trial_runs_once_and_each_experiment_gets_a_copy(trials: Trials) -> None:
    imported: list[bool] = []
    assert [trials.run(), trials.run(meanwhile=lambda: imported.append(True))] == [(1, "trial 1")] * 2
    assert trials.run(replace(HYBRID, label="edge")) == (1, "trial 1")
    assert (trials.count, imported) == (1, [True])


DIFFERENCES: dict[str, dict[str, Any]] = {
    "topology": {"arm": GRPC},
    "switch": {"arm": replace(HYBRID, switches=replace(HYBRID.switches, http=1))},
    "tape": {"tapes": replace(TAPES, loads={HYBRID.tape: Load(tape("warm-up"), tape("another seed"))})},
    "parity sample": {"parity_in_full": False},
    "length": {"plan": LONGER},
    "block": {"block": 2},
    "traces": {"arm": replace(HYBRID, keeps_traces=True)},
}


@pytest.mark.parametrize("difference", DIFFERENCES.values(), ids=DIFFERENCES)
def test_any_difference_makes_another_trial(trials: Trials, difference: dict[str, Any]) -> None:
    assert [trials.run(), trials.run(**difference), trials.run()] == [(1, "trial 1"), (2, "trial 2"), (1, "trial 1")]


def test_a_failed_trial_is_not_shared(trials: Trials) -> None:
    def fail(*_: Any, **__: Any) -> Trial:
        raise ConnectionError("no answer")

    shared = trials.shared
    trials.shared = replace(shared, run_once=fail)
    with pytest.raises(ConnectionError, match="no answer"):
        trials.run()
    trials.shared = shared
    assert trials.run() == (1, "trial 1")
