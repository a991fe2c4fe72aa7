from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from experiment.plan.arms_in_blocks import Plan
from experiment.results.folder import ResultsFolder
from mesh.supervisor.child import child_process
from proofs.measurement import resume
from proofs.measurement.resume import at_the_end, changes, finished_trials, proof_plan


@pytest.fixture
def plan() -> Plan:
    return proof_plan(blocks=1, seed=1)


@pytest.fixture
def folder(tmp_path: Path, plan: Plan) -> ResultsFolder:
    """A folder in use in which every trial is finished."""
    folder = ResultsFolder(tmp_path / "20260101T000000Z-prove-resume")
    for trial in plan.trials():
        path = folder.path / "trials" / trial.name
        (path / "logs").mkdir(parents=True)
        for file in ("trial.json", "vegeta.gob", "logs/order.log"):
            (path / file).write_text(f"{file} of {trial.name}")
    return folder


def complete(folder: ResultsFolder, plan: Plan, **changed: Any) -> None:
    """Ends an experiment as the runner does; `changed` has changes to the last trial's record."""
    row = {"attempt": 1, "used": True, "answers_sha256": "a", "generator": {"tape_sha256": "t"}}
    rows = [row | {"block": one.block, "topology": one.arm.label} for one in plan.trials()]
    rows[-1] |= changed
    (folder.path / "trials.json").write_text(json.dumps({"trials": rows}))
    (folder.path / "vegeta").mkdir()
    for one in plan.trials():
        (folder.path / "trials" / one.name / "vegeta.gob").rename(folder.path / "vegeta" / f"{one.name}.gob")
    folder.path.rename(folder.final)


def test_files_that_the_end_moves_do_not_count_as_changed(folder: ResultsFolder, plan: Plan) -> None:
    before = finished_trials(folder)
    assert set(before) == {trial.name for trial in plan.trials()}
    complete(folder, plan)
    assert changes(before, finished_trials(folder)) == []
    assert at_the_end(plan, folder) == []


def test_a_trial_with_its_record_is_finished_before_it_has_its_name(folder: ResultsFolder) -> None:
    before = finished_trials(folder)
    trials = folder.path / "trials"
    (trials / "1-grpc").rename(trials / ".1-grpc.partial")
    (trials / ".1-hybrid.partial").mkdir()
    assert finished_trials(folder) == before


def test_every_change_of_a_finished_trial_is_found(folder: ResultsFolder) -> None:
    before = finished_trials(folder)
    trials = folder.path / "trials"
    (trials / "1-grpc" / "logs" / "order.log").write_text("other")
    (trials / "1-hybrid" / "new").touch()
    assert changes(before, finished_trials(folder)) == [
        "trial 1-grpc was changed: logs/order.log",
        "trial 1-hybrid was changed: new",
    ]
    (trials / "1-hybrid" / "trial.json").unlink()
    assert "trial 1-hybrid was lost" in changes(before, finished_trials(folder))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"attempt": 2}, "each trial exactly once"),
        ({"used": False}, "each trial exactly once"),
        ({"generator": {"tape_sha256": "u"}}, "2 different tapes"),
        ({"answers_sha256": "b"}, "2 different sets of answers"),
    ],
)
def test_a_wrong_end_is_reported(folder: ResultsFolder, plan: Plan, changed: dict[str, Any], message: str) -> None:
    complete(folder, plan, **changed)
    (wrong,) = at_the_end(plan, folder)
    assert message in wrong


def test_an_extra_trial_and_an_unpublished_run_are_reported(folder: ResultsFolder, plan: Plan) -> None:
    assert at_the_end(plan, folder) == [f"the results folder {folder.final.name} does not exist"]
    complete(folder, plan)
    extra = folder.final / "trials" / "1-grpc.attempt1"
    extra.mkdir()
    (extra / "trial.json").touch()
    (wrong,) = at_the_end(plan, folder)
    assert "finished trials: 1-grpc, 1-grpc.attempt1, 1-hybrid" in wrong


@pytest.mark.parametrize("kills", [0, 1])
def test_an_experiment_that_hangs_ends_the_proof(
    folder: ResultsFolder, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    hangs = ["sleep", "60"]
    monkeypatch.setattr(resume, "_run_until_killed", lambda *_: child_process(hangs, stdin=subprocess.DEVNULL))
    monkeypatch.setattr(resume, "MAX_END_S", 0.2)
    (tmp_path / "log").touch()
    proof = resume.prove(plan, folder, tmp_path / "log", kills=kills, seed=1, progress=lambda _: None)
    assert proof.wrong == [f"start 1 of the experiment took more than 0.2 s; see {tmp_path / 'log'}"]
    assert not proof.holds
