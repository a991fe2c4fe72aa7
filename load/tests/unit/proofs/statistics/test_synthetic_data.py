"""Each proof on synthetic data, with a few experiments: what it finds, its document and its tables."""

from __future__ import annotations

import json
import signal
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hops.budget.parts import budget_of_tree
from hops.terminal.console import terminal
from hops.terminal.render import render
from hops.traces.critical_path import AHEAD_PERCENT
from hops.traces.tree import grow
from proofs.statistics import power, speeds
from proofs.statistics.commands import PROOFS, SyntheticProof, _command_of, app
from proofs.statistics.coverage import prove_coverage
from proofs.statistics.experiments import NOISES, over_experiments, rate
from proofs.statistics.power import CELLS
from proofs.statistics.siblings import RULES
from synthetic.waits import CAUSES, known_trace

SHIFTED_BLOCKS = "blocks shift by 20 %, trials by 5 %"
CHOSEN = {("step", 0.05), ("step", 0.1), ("step", 0.3), ("blocks", 3), ("blocks", 15), ("noise", SHIFTED_BLOCKS)}
"""The cells whose power is measured; each takes a moment."""


def run(command: str, count: int, seed: int) -> tuple[Any, str]:
    """Runs a proof's command; returns its document, and the tables that follow from the document."""
    proof = PROOFS[command]
    done = CliRunner().invoke(app, [command, f"--{proof.counts}", f"{count}", "--seed", f"{seed}", "--json"])
    document = json.loads(done.stdout)
    assert document["seed"] == seed
    assert done.exit_code == (0 if document["holds"] else 1)
    console = terminal(width=140)
    with console.capture() as printed:
        console.print(render(proof.view(document)))
    return document, printed.get()


def test_equal_topologies_hardly_ever_seem_to_differ() -> None:
    proof, printed = run("aa", 10, seed=4)
    assert proof["holds"]
    assert set(proof["noises"]) == set(NOISES)
    assert 0.01 < proof["parts"]["rate"] < 0.12
    for row in proof["metrics"]:
        assert 0.01 < row["tests"]["rate"] < 0.12
        assert row["experiments"]["rate"] <= 0.2
    assert "False differences in 10" in printed


def test_intervals_contain_the_truth() -> None:
    proof, printed = run("coverage", 12, seed=4)
    assert {row["metric"] for row in proof["figures"]} == {"mean", "p50", "p90", "p95", "p99"}
    assert {"part of a hop difference", "part that does not differ"} <= {row["figure"] for row in proof["figures"]}
    assert set(proof["noises"]) == set(NOISES)
    for row in proof["figures"]:
        # 12 experiments scatter by 4 %, and their intervals are correlated.
        assert 0.85 < row["coverage"] <= 1
        assert row["intervals"] > 30
    (row,) = [row for row in proof["figures"] if row["figure"] == "break-even"]
    # For all journeys together, and for the six that take the left topology one more round trip.
    assert row["intervals"] + row["refused"] == 12 * 7
    assert "Coverage of 95 % intervals, 12" in printed


def test_the_same_seed_gives_the_same_proof() -> None:
    assert prove_coverage(1, seed=9) == prove_coverage(1, seed=9)
    first, same, other = (list(over_experiments(_draw, 3, seed)) for seed in (1, 1, 2))
    assert first == same != other


def _draw(seed: np.random.SeedSequence) -> float:
    return np.random.default_rng(seed).random()


def test_equal_sets_hardly_ever_differ_and_true_limits_are_hardly_ever_broken() -> None:
    proof, printed = run("trace-sets", 8, seed=4)
    assert proof["holds"]
    assert [row["noise"] for row in proof["noises"]] == ["usual", *NOISES]
    assert proof["noises"][0]["different"]["of"] == 8
    assert "Pairs of equal sets that show any difference" in printed


def test_larger_differences_are_shown_more_often_and_shifts_of_whole_blocks_hide_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(NOISES) < {name for about, _, _, name, _ in CELLS if about == "noise"}
    places = {"step": 4, "blocks": 1, "noise": 3}
    monkeypatch.setattr(power, "CELLS", [cell for cell in CELLS if (cell[0], cell[places[cell[0]]]) in CHOSEN])
    proof, printed = run("power", 4, seed=3)
    cells = proof["cells"]
    assert len(cells) == len(CHOSEN)
    by_step = {cell["step"]: cell["mix"]["share"] for cell in cells if cell["about"] == "step"}
    assert by_step[0.3] > 0.9
    assert by_step[0.05] < 0.7
    by_blocks = {cell["blocks"]: cell["mix"]["share"] for cell in cells if cell["about"] == "blocks"}
    assert by_blocks[3] < 0.3 < 0.6 < by_blocks[15]
    (shifted,) = [cell["mix"]["share"] for cell in cells if cell["about"] == "noise"]
    assert shifted == pytest.approx(by_step[0.1], abs=0.4)
    for title in ("by the size of the difference", "by the number of blocks", "by the noise"):
        assert title in printed


def test_each_kind_of_experiment_is_counted_and_no_verdict_is_false() -> None:
    proof, printed = run("precision", 6, seed=3)
    whole, *kinds = proof["rows"]
    assert whole["kind"] == "all"
    # Four topologies have five more pairs than two.
    extra = sum(5 * row["experiments"] for row in proof["rows"] if row["kind"] == "4 topologies")
    assert whole["experiments"] == 6 == whole["mix"]["of"] - extra
    for labels in ("first stage", "topologies"):
        assert sum(row["experiments"] for row in kinds if labels in row["kind"]) == 6
    assert whole["reached"]["count"] > 0
    assert all(row["blocks"][0] >= 5 for row in kinds)
    assert all(one["of"] > 0 for one in whole["coverage"].values())
    assert "A/A experiments that run until they are precise" in printed


@pytest.mark.parametrize("cause", CAUSES)
def test_the_known_budget_adds_up_to_the_trace(cause: str) -> None:
    for number in range(50):
        known = known_trace(cause, 1, number)
        budget = budget_of_tree(grow(known.spans))
        assert budget is not None
        assert sum(known.budget.values()) == budget.total_ns
        assert known == known_trace(cause, 1, number)


def test_the_rule_for_siblings_is_no_worse_than_any_other_and_is_marked() -> None:
    proof, printed = run("siblings", 400, seed=1)
    rules = {rule["ahead_percent"]: rule for rule in proof["rules"]}
    assert list(rules) == list(RULES)
    assert rules[AHEAD_PERCENT]["all"] <= rules[50]["all"]
    assert rules[50]["more_ci95"][0] > 0
    assert proof["holds"]
    assert proof["used_percent"] == AHEAD_PERCENT
    rows = [row for line in printed.splitlines() if (row := line.split())[1:2] == ["%"]]
    assert [row[0] for row in rows] == [str(rule) for rule in RULES]
    assert [row[0] for row in rows if row[-1] == "used"] == [str(AHEAD_PERCENT)]


def test_a_gate_that_refuses_every_run_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    proof, printed = run("speeds", 12, seed=1)
    assert proof["holds"]
    assert "on machines that change their speed, 12" in printed
    monkeypatch.setattr(speeds, "speed_gate", lambda *_: {"ok": False})
    proof, _ = run("speeds", 12, seed=1)
    assert not any(row["count"] for shares in proof["valid"].values() for row in shares.values())
    assert not proof["holds"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("meetings", "what meetings cost, in 1"),
        ("searches", "seem to differ, 1 pairs"),
        ("turns", "reported to flip, in 1"),
    ],
)
def test_a_proof_has_a_document_and_tables(command: str, words: str) -> None:
    proof, printed = run(command, 1, seed=2)
    assert proof["experiments"] == 1
    assert words in printed


def test_without_json_a_command_prints_the_tables() -> None:
    assert "reported to flip, in 1" in CliRunner().invoke(app, ["turns", "--experiments", "1"]).output


@pytest.mark.parametrize("command", ["observer", "versions", "aa"])
def test_a_negative_seed_is_refused(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--seed", "-1"])
    assert done.exit_code == 2
    assert "greater than or equal to 0" in done.output


def test_sigterm_ends_a_proof_as_an_error_does(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.fail("the proof does not handle the signal"))
    proof = _command_of(SyntheticProof(lambda *_: signal.raise_signal(signal.SIGTERM), list))
    try:
        with pytest.raises(SystemExit, match="143"):
            proof(count=1, seed=1, as_json=False)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "stopped by SIGTERM; nothing was left running." in capsys.readouterr().err


def test_a_rate_has_clopper_and_pearsons_interval() -> None:
    share = rate(0, 20)
    assert share["ci95"] == pytest.approx([0, 1 - 0.025 ** (1 / 20)])
    assert rate(0, 0)["ci95"] == [0.0, 1.0]
