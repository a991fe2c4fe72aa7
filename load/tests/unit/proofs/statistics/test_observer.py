"""The proof that intervals of the observer effect include 0 without an effect."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest
import typer
from typer.testing import CliRunner

from proofs.__main__ import app
from proofs.outcome import give
from proofs.statistics.experiments import rate
from proofs.statistics.observer import ObserverProof, OfPlace, is_within_limit, observer_view
from synthetic.run import write_generated_run


def test_draws_use_the_untraced_journeys_of_each_topology(tmp_path):
    folder = write_generated_run(tmp_path / "run", topologies=["rest", "grpc"], blocks=2, journeys_per_trial=150)
    command = ["observer", "--run", str(folder), "--draws", "4"]
    proof = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert proof["holds"]
    assert 400 < proof["journeys"] < 600
    assert [(row["topology"], row["place"], row["left_out"]["of"]) for row in proof["places"]] == [
        ("rest", "all", 4),
        ("grpc", "all", 4),
    ]
    assert "Draws whose interval excludes 0, of 4" in CliRunner().invoke(app, command).output


def test_a_run_without_untraced_journeys_is_refused(tmp_path):
    folder = write_generated_run(tmp_path / "run", topologies=["rest"], blocks=1, journeys_per_trial=40, traced=1.0)
    result = CliRunner().invoke(app, ["observer", "--run", str(folder), "--draws", "1"])
    assert result.exit_code == 1
    assert "only 0 untraced journeys ended ok" in result.output


@pytest.mark.parametrize(
    ("count", "of", "within"), [(30, 500, True), (34, 500, True), (39, 500, True), (45, 500, False), (260, 4000, False)]
)
def test_more_than_six_percent_fails_beyond_chance(count, of, within):
    left_out = rate(count, of)
    assert is_within_limit(left_out, 16) == within
    places = [OfPlace(topology="rest", place="all", left_out=left_out)]
    proof = ObserverProof(holds=within, draws=of, seed=1, journeys=9, places=places)
    with pytest.raises(typer.Exit) if not within else nullcontext():
        give(proof, observer_view(proof), as_json=False)
