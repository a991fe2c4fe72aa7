"""The proofs themselves, on few experiments, and the truth that they hold intervals against."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from hops.commands.prove import app, power_view
from hops.proofs.statistics import measure_power, prove_aa, prove_coverage, rate
from hops.synthetic.experiment import Noise, Setting, Simulation
from hops.terminal.console import terminal
from hops.terminal.render import rendered


def test_equal_topologies_are_hardly_ever_told_apart():
    found = prove_aa(30, seed=4)
    assert found["holds"]
    for row in found["metrics"]:
        assert 0.01 < row["tests"]["rate"] < 0.12
        assert row["experiments"]["rate"] <= 0.2


def test_intervals_hold_the_truth():
    found = prove_coverage(40, seed=4)
    assert {row["metric"] for row in found["figures"]} == {"mean", "p50", "p90", "p95", "p99"}
    for row in found["figures"]:
        # 40 experiments scatter by 2 %, and their intervals hang together.
        assert 0.88 < row["coverage"] <= 1
        assert row["intervals"] > 50


def test_the_same_seed_gives_the_same_proof():
    assert prove_coverage(3, seed=9) == prove_coverage(3, seed=9)
    assert prove_coverage(3, seed=9) != prove_coverage(3, seed=10)


def test_the_truth_is_what_many_blocks_find():
    noise = Noise(sigma=0.4, correlation=0.5, block=0.05, trial=0.05, tape=0.4)
    simulation = Simulation(Setting(400, 1000, noise), np.random.default_rng(1))
    side = simulation.experiment({"a": 2.0})["a"]
    truth = simulation.truth(2.0)
    for journey in ("all", "browse", "login"):
        values = side.pooled(journey, side.blocks)
        assert values.mean() == pytest.approx(truth[journey]["mean"], rel=0.02)
        for share, name in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99")):
            assert np.quantile(values, share) == pytest.approx(truth[journey][name], rel=0.02)


def test_larger_differences_are_shown_more_often_and_shifts_of_whole_blocks_hide_none():
    found = {(row["step"], row["block_shift"]): row["all_mean"]["rate"] for row in measure_power(6, seed=3)["cells"]}
    assert found[0.3, 0.02] > 0.9
    assert found[0.05, 0.05] < 0.5
    # the trials of both are shifted by 5 %; the blocks by 5 and by 20 %
    assert found[0.3, 0.2] == pytest.approx(found[0.3, 0.05], abs=0.25)


def test_power_is_printed_as_json_and_as_a_table(capsys):
    document = CliRunner().invoke(app, ["power", "--experiments", "1", "--seed", "2", "--json"])
    found = json.loads(document.stdout)
    assert found["seed"] == 2
    terminal().print(rendered(power_view(found)))
    assert "True differences shown" in capsys.readouterr().out


def test_a_rate_has_clopper_and_pearsons_interval():
    found = rate(0, 20)
    assert found["ci95"] == pytest.approx([0, 1 - 0.025 ** (1 / 20)])
    assert rate(0, 0)["ci95"] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("command", "words"), [("aa", "False differences in 3"), ("coverage", "Coverage of 95 % intervals")]
)
def test_commands_print_tables_and_json(command, words):
    plain = CliRunner().invoke(app, [command, "--experiments", "3"])
    assert words in plain.output
    document = CliRunner().invoke(app, [command, "--experiments", "3", "--seed", "2", "--json"])
    found = json.loads(document.stdout)
    assert (found["experiments"], found["seed"]) == (3, 2)
    assert document.exit_code == (0 if found["holds"] else 1)
