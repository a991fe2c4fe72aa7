"""The true values with which proofs compare intervals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from proofs.statistics.coverage import DISTANT
from proofs.statistics.experiments import NOISES
from synthetic.experiment import Noise, Setting, Simulation
from synthetic.shapes import Pareto


def test_the_true_break_even_is_where_many_blocks_cross():
    noise = Noise(sigma=0.4, correlation=0.0, block=0.02, trial=0.02, tape=0.4)
    simulation = Simulation(Setting(400, 1000, noise), np.random.default_rng(1))
    sides = simulation.experiment({name: one.factor for name, one in DISTANT.items()})
    at = simulation.break_even(DISTANT["left"], DISTANT["right"], "all")

    def median(name, side):
        shifted = [side.pool(journey, side.blocks) + at * trips for journey, trips in DISTANT[name].round_trips.items()]
        return np.median(np.concatenate(shifted))

    medians = [median(*one) for one in sides.items()]
    assert medians[0] == pytest.approx(medians[1], rel=0.01)
    assert simulation.break_even(DISTANT["left"], DISTANT["right"], "browse") == pytest.approx(
        simulation.truth(1.25)["browse"]["p50"] - simulation.truth(1.0)["browse"]["p50"], rel=1e-3
    )


USUAL = Noise(sigma=0.4, correlation=0.5, block=0.05, trial=0.05, tape=0.4)
STEADY_PARETO = Noise(block=0.0, trial=0.0, shape=Pareto(2.2))


@pytest.mark.parametrize("noise", [USUAL, STEADY_PARETO, *NOISES.values()])
def test_the_truth_is_what_many_blocks_find(noise):
    simulation = Simulation(Setting(400, 1000, noise), np.random.default_rng(1))
    side = simulation.experiment({"a": 2.0})["a"]
    truth = simulation.truth(2.0)
    # Heavy tails, and trials in two states, need more blocks for the same precision.
    near = 0.02 if noise is USUAL else 0.05
    for journey in ("all", "browse", "login"):
        values = side.pool(journey, side.blocks)
        assert values.mean() == pytest.approx(truth[journey]["mean"], rel=near)
        for share, name in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99")):
            assert np.quantile(values, share) == pytest.approx(truth[journey][name], rel=near)


def test_the_true_parts_are_what_many_blocks_find():
    simulation = Simulation(Setting(300, 400, Noise(tape=0.4)), np.random.default_rng(1))
    rows = simulation.hops({"a": {"work:user": 1.5, "db:user": 1.0}}, sample=0.5)["a"]
    whole = simulation.truth(1.0)["browse"]["mean"]
    browse = rows.filter(pl.col("journey") == "browse")
    means = dict(browse.group_by("part").agg(pl.col("ns").mean() / 1e6).iter_rows())
    assert means == pytest.approx({"work:user": 1.5 * whole / 2, "db:user": whole / 2}, rel=0.02)


def test_only_the_slowed_journey_of_a_topology_is_slow():
    simulation = Simulation(Setting(30, 1000, Noise()), np.random.default_rng(1))
    sides = simulation.experiment({"a": 1.0, "b": 2.0}, only="browse")
    ratios = {
        journey: np.median(sides["b"].pool(journey, range(1, 31))) / np.median(sides["a"].pool(journey, range(1, 31)))
        for journey in ("browse", "product")
    }
    assert ratios == pytest.approx({"browse": 2.0, "product": 1.0}, rel=0.05)
