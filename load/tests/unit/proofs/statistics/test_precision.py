"""The proof about experiments that run until they are precise, with only a few experiments."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from hops.terminal.console import terminal
from hops.terminal.render import render
from proofs.statistics.commands import app
from proofs.statistics.precision import precision_view, prove_precision


def test_each_kind_of_experiment_is_counted_and_no_verdict_is_false():
    proof = prove_precision(6, seed=3)
    whole, *kinds = proof["rows"]
    assert whole["kind"] == "all"
    # Four topologies have five more pairs than two.
    extra = sum(5 * row["experiments"] for row in proof["rows"] if row["kind"] == "4 topologies")
    assert whole["experiments"] == 6 == whole["mix"]["of"] - extra
    for labels in ("first stage", "topologies"):
        assert sum(row["experiments"] for row in kinds if labels in row["kind"]) == 6
    assert whole["reached"]["count"] > 0
    assert all(row["blocks"][0] >= 5 for row in kinds)
    assert all(rate["of"] > 0 for rate in whole["coverage"].values())


def test_the_command_has_output_for_programs():
    done = CliRunner().invoke(app, ["precision", "--experiments", "2", "--json"])
    proof = json.loads(done.stdout)
    assert (proof["experiments"], proof["seed"]) == (2, 1)
    console = terminal(width=140)
    with console.capture() as capture:
        console.print(render(precision_view(proof)))
    assert "A/A experiments that run until they are precise" in capture.get()
