"""Every kind of experiment can be interrupted and resumed, and its figures follow from its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from experiment.blocks import Makers
from experiment.cli import app
from experiment.commands import in_blocks
from experiment.errors import ParityError
from experiment.kinds import compare_versions
from experiment.runner import run_plan
from experiment.trial.outcome import Trial
from hops.run.files import read_document
from hopwise.table import ROWS
from mesh.components.revisions import Checkout
from mesh.errors import ComponentDiedError

from ...needs import needs_generator
from ..fake_trials import whole_trial

pytestmark = needs_generator
TOPOLOGIES = "--topologies rest,grpc --trace 0"
COMMANDS = {
    "compare": f"{TOPOLOGIES} --blocks 2 --profile smoke",
    "ladder": "--steps no-edge,edge --blocks 2 --profile smoke",
    "rtt": f"{TOPOLOGIES} --rtts 0,20 --blocks 1",
    "rates": f"{TOPOLOGIES} --rates 10,20 --blocks 1",
    "isolate": "--blocks 2 --trace 0",
    "chaos": "--topologies rest,grpc --faults kill:order,kill:edge",
    "studies": "--study agrawal --profile smoke --blocks 1",
    "capacity": "--topologies rest --profile smoke",
    "capacity --load stress": "--topologies rest --profile smoke --users 5,10,20",
    "capacity --load overload": "--topologies rest --profile smoke --factors 1,5",
    "watch": "--topologies rest --watchers 10 --ways push --blocks 2 --trace 0",
    "soak": "--topologies rest,grpc,hybrid --minutes 1",
    "connections": "--topologies rest,grpc --connections 0,10 --blocks 2",
    "compare-versions": "--a HEAD --b HEAD --blocks 2 --trace 0",
}
"""Each kind that can be resumed, with a small experiment."""
INTERRUPTED = 130
ELSEWHERE = {"bench", "two-runs", "decide", "load"}
"""Kinds that cannot be resumed: a single trial has nothing to resume, and the other kinds work differently."""


class Trials:
    """Runs fake trials; `errors` end trials, by the number of the trial."""

    def __init__(self, errors: Mapping[int, BaseException] | None = None) -> None:
        self.errors = errors or {}
        self.ran: list[str] = []

    def __call__(self, system: Any, _shopload: Any, _tapes: Any, arm: Any, plan: Any, folder: Path, **_: Any) -> Trial:
        folder.mkdir(parents=True)
        if error := self.errors.get(len(self.ran) + 1):
            raise error
        self.ran.append(str(system.trial).rsplit("/", 1)[-1])
        return whole_trial(arm, plan)


def invoke(command: str, trials: Callable[..., Trial], results: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    def run(*given: Any, makers: Makers, **how: Any) -> tuple[Any, Path]:
        return run_plan(*given, makers=replace(makers, run=trials), **how)

    monkeypatch.setattr(in_blocks, "RESULTS", results)
    monkeypatch.setattr(compare_versions, "find_checkout", lambda side, given: Checkout(side, given, "0" * 40, ""))
    monkeypatch.setattr(in_blocks, "run_plan", run)
    monkeypatch.setenv("SHOP_PORT_BASE", "24700")
    return CliRunner().invoke(app, command.split())


def test_every_kind_is_covered() -> None:
    modules = [row.where.partition(":")[0] for row in ROWS if ".kinds." in row.where]
    kinds = {module.removeprefix("experiment.kinds.").replace("_", "-") for module in modules}
    assert {name.split()[0] for name in COMMANDS} | ELSEWHERE == kinds


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_is_resumed_and_recomputed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Trials({3: KeyboardInterrupt()}), Trials()
    assert invoke(f"{name} {COMMANDS[name]}", first, tmp_path, monkeypatch).exit_code == INTERRUPTED
    kind = name.split()[0]
    done = invoke(f"{kind} --resume latest", second, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
    ran = [*first.ran, *second.ran]
    assert len(first.ran) == 2
    assert len(set(ran)) == len(ran)
    (folder,) = tmp_path.glob("2*")
    summary = (folder / "summary.json").read_bytes()
    assert {f"{row['block']}-{row['topology']}" for row in read_document(folder / "trials.json")["trials"]} == set(ran)
    for file in (*folder.glob("report.*"), folder / "summary.json"):
        file.unlink()
    again = CliRunner().invoke(app, ["report", "--run", str(folder)])
    assert again.exit_code == 0, again.output
    assert (folder / "summary.json").read_bytes() == summary


def test_a_single_trial_shows_its_figures_and_what_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brief = invoke("bench --topology rest --profile smoke --trace 0", Trials(), tmp_path, monkeypatch)
    whole = invoke("bench --topology rest --profile smoke --trace 0 --verbose on", Trials(), tmp_path, monkeypatch)
    assert "One trial of rest, about " in brief.stderr
    assert "Traces:  make trace    (verbose=on prints all tables" in brief.stdout
    for line in ("Load:    open loop, 20 journeys a second", "Memory:  50 MiB at most", "Tape:    ", "Answers: ab"):
        assert line in whole.stdout


def test_wrong_answers_of_a_version_name_the_setting_that_allows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_versions, "run_trial", Trials({1: ParityError("hybrid", 90, ["browse", "product"])}))
    monkeypatch.setattr(Checkout, "require_unchanged", lambda _: None)
    ended = invoke("compare-versions --a HEAD --b HEAD --trace 0", compare_versions.run_version, tmp_path, monkeypatch)
    assert "hybrid gave 2 wrong answers out of 90" in ended.stderr
    assert "name these: allow-differences=" in ended.stderr


def test_hints_name_a_folder_of_results_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    command = f"compare {COMMANDS['compare']} --results {elsewhere}"
    stopped = invoke(command, Trials({3: KeyboardInterrupt()}), tmp_path, monkeypatch)
    assert f"`make compare resume=latest results={elsewhere}` resumes the run." in stopped.stderr
    done = invoke(f"compare --resume latest --results {elsewhere}", Trials(), tmp_path, monkeypatch)
    (folder,) = elsewhere.glob("2*-compare")
    assert f"Decide:  make decide run={folder}   (verbose=on" in done.stdout


def test_a_resumed_search_takes_the_same_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_figures(_folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hops.kinds.summary_with_report", no_figures)
    whole, first, second = Trials(), Trials({4: KeyboardInterrupt()}), Trials()
    command = "capacity --topologies rest --profile smoke"
    for trials, folder, asked in (
        (whole, "whole", command),
        (first, "parts", command),
        (second, "parts", "capacity --resume latest --retry 1"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        invoke(asked, trials, tmp_path / folder, monkeypatch)
    assert [*first.ran, *second.ran] == whole.ran
    assert whole.ran[:4] == ["1-rest-1-search-20", "1-rest-2-search-40", "1-rest-3-search-80", "1-rest-4-search-80"]


def test_searches_in_blocks_have_intervals_of_rates_and_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Trials()
    done = invoke("capacity --topologies rest,grpc --profile smoke --blocks 3", trials, tmp_path, monkeypatch)
    assert done.exit_code != 2, done.output
    began = [label.split("-")[1] for label in trials.ran if label.endswith("-search-20")]
    assert sorted(began) == ["grpc"] * 3 + ["rest"] * 3
    assert len(trials.ran) == len(set(trials.ran))
    (summary,) = tmp_path.glob("2*/summary.json")
    capacity = json.loads(summary.read_text())["capacity"]
    for result in capacity["results"].values():
        assert result["searches"] == [result["rate"]] * 3
        low, high = result["held"]["ci95"]
        assert low < result["held"]["value"] < high
    (ratio,) = capacity["ratios"]
    assert ratio["ratio"]["value"] == pytest.approx(1.0)
    refused = invoke("capacity --load stress --users 5 --topologies rest --blocks 3", trials, tmp_path, monkeypatch)
    assert "blocks=3 is for load=sweep; the load is stress" in refused.stderr


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_topology_that_fails_ends_early_and_the_next_begins(
    is_interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = Trials({2: ComponentDiedError("order", "order has ended")})
    died = trials.errors

    def once(*arguments: Any, **options: Any) -> Trial:
        try:
            return trials(*arguments, **options)
        except ComponentDiedError:
            trials.errors = {3: KeyboardInterrupt()} if is_interrupted else {}
            raise

    assert died
    done = invoke(
        "capacity --load stress --users 5,10 --topologies rest,grpc --profile smoke --trace 0",
        once,
        tmp_path,
        monkeypatch,
    )  # type: ignore[arg-type]
    if is_interrupted:
        assert done.exit_code == INTERRUPTED
        trials.errors = {}
        done = invoke("capacity --resume latest", trials, tmp_path, monkeypatch)
    assert done.exit_code == 3
    assert "rest ended early: order has ended." in " ".join(done.stdout.split())
    assert trials.ran == ["1-rest-1-users-5", "1-grpc-1-users-5", "1-grpc-2-users-10"]


def test_too_few_blocks_for_a_threshold_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Trials()
    refused = invoke(f"compare-versions {COMMANDS['compare-versions']} --threshold 10%", trials, tmp_path, monkeypatch)
    assert refused.exit_code == 2
    assert "blocks=2 is too few to check threshold=10%: give at least 3 blocks" in refused.stderr
    assert trials.ran == []


@pytest.mark.parametrize(("beyond", "code"), [(None, 1), (True, 4)])
def test_a_threshold_that_could_not_be_checked_does_not_pass(
    beyond: bool | None, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "summary.json").write_text("{}", encoding="utf-8")
    summary: Any = {"verdict": "VALID", "beyond_threshold": beyond}
    with pytest.raises(SystemExit) as ended:
        in_blocks.show(summary, tmp_path, strict=False, as_json=True, brief=True)
    assert ended.value.code == code
    assert ("the threshold cannot be checked" in capsys.readouterr().err) is (code == 1)
