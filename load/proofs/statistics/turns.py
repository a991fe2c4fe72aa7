"""Is a stable ranking reported to flip with the rate? Experiments with a known truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypedDict

import numpy as np

from hops.elements.element import Element, Text
from hops.elements.table import Table, words
from hops.kinds.rates.analysis import crossings
from hops.kinds.rates.document import AXIS
from hops.run.axis import Arm
from hops.statistics.correction import SIGNIFICANCE
from hops.units import ALL
from proofs.outcome import Progress
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.experiments import Proof, Rate, is_seldom, over_experiments, rate
from synthetic.experiment import Simulation, draw_setting

RATES = (10.0, 20.0, 40.0, 60.0)
SLOWER: Mapping[str, tuple[float, ...]] = {
    "equal": (1.0, 1.0, 1.0, 1.0),
    "slower by 5 % at every rate": (1.05, 1.05, 1.05, 1.05),
    "slower by 3 to 12 %, the more the higher the rate": (1.03, 1.05, 1.08, 1.12),
    "faster by 20 % at the lowest rate, slower by 25 % at the highest": (0.8, 0.9, 1.1, 1.25),
}
"""Slowness of the second system at each rate, as a multiple of the first."""
TURNS = ("from", "several")
"""Verdicts that report a flip of the ranking."""


class OfSystems(TypedDict):
    """Number of experiments that report a flip of two systems' ranking, and whether it flips."""

    systems: str
    turn: bool
    said: Rate


class TurnsProof(Proof):
    systems: list[OfSystems]


def prove_turns(experiments: int, seed: int, progress: Progress = lambda _: None) -> TurnsProof:
    """Look for rankings that flip with the rate, on systems where the truth is known.

    Fails if a stable ranking is reported to flip in significantly more than 5 % of the experiments.
    """
    counts = sum(over_experiments(run_experiment, experiments, seed, progress), Counter[tuple[str, str]]())
    systems = [
        OfSystems(
            systems=name, turn=min(factors) < 1 < max(factors), said=rate(counts[name, "turns"], counts[name, "of"])
        )
        for name, factors in SLOWER.items()
    ]
    holds = is_seldom(row["said"] for row in systems if not row["turn"])
    return TurnsProof(holds=holds, experiments=experiments, seed=seed, systems=systems)


def run_experiment(seed: np.random.SeedSequence) -> Counter[tuple[str, str]]:
    """Runs one experiment, and counts whether it reports a flip of the ranking over the whole mix."""
    rng = np.random.default_rng(seed)
    name = list(SLOWER)[rng.integers(len(SLOWER))]
    simulation = Simulation(draw_setting(rng, blocks=(3, 5, 8, 12), journeys=(200, 400)), rng)
    factors = {"first": (1.0,) * len(RATES), "second": SLOWER[name]}
    arms = {system: [Arm(AXIS.label(system, at), system, f"{at:g}", at) for at in RATES] for system in factors}
    slow = {
        arm.label: factor * (1 + arm.at / 100)
        for system, own in arms.items()
        for arm, factor in zip(own, factors[system], strict=True)
    }
    rows = crossings(arms, RATES, simulation.experiment(slow), dict.fromkeys(simulation.counts(), 1))
    turns = any(row["verdict"] in TURNS for row in rows if row["journey"] == ALL)
    return Counter({(name, "of"): 1, (name, "turns"): int(turns)})


def turns_view(proof: TurnsProof) -> list[Element]:
    rows = [
        [words(row["systems"]), words("yes" if row["turn"] else "no"), show_rate(row["said"])]
        for row in proof["systems"]
    ]
    title = f"How often the ranking of two systems is reported to flip, in {proof['experiments']:,} experiments"
    columns = [*name_columns("the second is", "it flips"), *rate_columns("reported")]
    verdict = "not significantly" if proof["holds"] else "significantly"
    text = f"A stable ranking is reported to flip in {verdict} more than {100 * SIGNIFICANCE:g} % of experiments."
    return [Table("turns", title, columns, rows), Text(text, tone="verdict")]
