"""Power: how often is a true difference shown?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TypedDict

import numpy as np

from hops.analysis.comparisons import compare_latencies, correct
from hops.analysis.latencies import Latencies
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, words
from hops.run.documents.difference import Comparison
from hops.statistics.intervals import Floats
from hops.units import ALL
from proofs.outcome import Progress
from proofs.statistics.cells import name_columns, show_with_error
from proofs.statistics.experiments import DEFAULT, NOISES, SAME, SHIFTED, Proof, over_experiments
from synthetic.experiment import Noise, Setting, Simulation

_POWER_TABLES = {
    "step": ("", "Power by the size of the difference"),
    "blocks": ("blocks", "Power by the number of blocks"),
    "noise": ("noise", "Power by the noise"),
}
"""Tables of power by what varies between rows: the first column's head, and the title."""

STEPS = (0.05, 0.1, 0.2, 0.3)
"""Steps by which each topology is slower than the previous one."""
MIX_STEP, JOURNEY_STEP = 0.1, 0.2
"""The steps that the mix, and a single journey, must show in the default design."""
JOURNEY = "browse"
POWER_BLOCKS = (3, 4, 5, 6, 8, 10, 12, 15)
CALMER_AND_ROUGHER = {
    "blocks and trials shift by 2 %": replace(SHIFTED, block=0.02, trial=0.02),
    "blocks shift by 20 %, trials by 5 %": replace(SHIFTED, block=0.2),
    "trials shift by 10 %": replace(SHIFTED, trial=0.1),
}
"""Smaller and larger shifts of blocks and trials."""
Condition = tuple[str, int, Noise, str, float]
CELLS: Sequence[Condition] = [
    *(("step", DEFAULT[0], SHIFTED, "", step) for step in STEPS),
    *(("blocks", blocks, SHIFTED, "", MIX_STEP) for blocks in POWER_BLOCKS),
    *(("noise", DEFAULT[0], noise, name, MIX_STEP) for name, noise in NOISES.items()),
    *(("noise", DEFAULT[0], noise, name, MIX_STEP) for name, noise in CALMER_AND_ROUGHER.items()),
]
"""Rows of the tables of power: what varies in the table, blocks, noise, name of the noise, and step."""


class Share(TypedDict):
    """A share of pairs, and its standard error from the scatter over the experiments."""

    share: float
    error: float


class Power(TypedDict):
    """How often the differences between neighbouring topologies are shown at p50.

    `mix`: every journey is slower by `step`. `one`: the same, but for only one of the four topologies. `journey`: only
    one journey is slower, by `journey_step`.
    """

    about: str
    blocks: int
    journeys: int
    noise: str
    step: float
    journey_step: float
    mix: Share
    one: Share
    journey: Share


class PowerProof(Proof):
    """Which differences experiments can show. There is no limit, so the proof always holds."""

    cells: list[Power]


def measure_power(experiments: int, seed: int, progress: Progress = lambda _: None) -> PowerProof:
    """Measure how often a true difference is detected, by its size, the number of blocks and the noise; never fails."""
    cells: list[Power] = []
    for about, blocks, noise, name, step in CELLS:
        journey_step = JOURNEY_STEP if about != "step" else step
        setting = Setting(blocks, DEFAULT[1], noise)
        one = partial(_power, setting=setting, step=step, journey_step=journey_step)
        shown = np.array(list(over_experiments(one, experiments, seed)))
        mix, alone, journey = (_share(column) for column in shown.T)
        cells.append(
            Power(
                about=about,
                blocks=blocks,
                journeys=setting.journeys,
                noise=name,
                step=step,
                journey_step=journey_step,
                mix=mix,
                one=alone,
                journey=journey,
            )
        )
        progress(len(cells))
    return PowerProof(holds=True, experiments=experiments, seed=seed, cells=cells)


def _share(shares: Floats) -> Share:
    error = shares.std(ddof=1) / shares.size**0.5 if shares.size > 1 else 0.0
    return Share(share=float(shares.mean()), error=float(error))


def _power(
    seed: np.random.SeedSequence, *, setting: Setting, step: float, journey_step: float
) -> tuple[float, float, float]:
    """Runs an experiment for each kind of difference; returns the shares of true differences that are shown."""
    simulation = Simulation(setting, np.random.default_rng(seed))
    names = list(SAME)
    steps = {name: (1 + step) ** place for place, name in enumerate(names)}
    journey_steps = {name: (1 + journey_step) ** place for place, name in enumerate(names)}
    neighbours = list(pairwise(names))
    alone = SAME | {names[-1]: 1 + step}
    return (
        _share_shown(simulation.experiment(steps), ALL, neighbours),
        _share_shown(simulation.experiment(alone), ALL, [(name, names[-1]) for name in names[:-1]]),
        _share_shown(simulation.experiment(journey_steps, only=JOURNEY), JOURNEY, neighbours),
    )


def _share_shown(topologies: Mapping[str, Latencies], journey: str, pairs: Sequence[tuple[str, str]]) -> float:
    """Returns the share of these pairs whose left topology is shown to be lower at p50."""
    rows: list[Comparison] = [row for row in compare_latencies(topologies) if row["metric"] == "p50"]
    correct(rows)
    lower = {(row["left"], row["right"]) for row in rows if (row["journey"], row["verdict"]) == (journey, "left_lower")}
    return sum(pair in lower for pair in pairs) / len(pairs)


def power_view(proof: PowerProof) -> list[Element]:
    blocks, journeys = DEFAULT
    tables: list[Element] = []
    for about, (head, title) in _POWER_TABLES.items():
        figures = ("step of all", "the mix", "the mix, of one only", f"step of {JOURNEY}", JOURNEY)
        columns = [*name_columns(head), *map(Column, figures)]
        rows = [
            [
                words({"step": "", "blocks": str(cell["blocks"]), "noise": cell["noise"]}[about]),
                Cell(numbers.share(cell["step"], 0)),
                _show_share(cell["mix"]),
                _show_share(cell["one"]),
                Cell(numbers.share(cell["journey_step"], 0)),
                _show_share(cell["journey"]),
            ]
            for cell in proof["cells"]
            if cell["about"] == about
        ]
        dropped = slice(0 if about != "step" else 1, None)
        tables.append(Table(f"power_{about}", title, columns[dropped], [row[dropped] for row in rows], heads=1))
    return [
        *tables,
        Text(
            f"Share of the differences of p50 that are shown, with standard errors, in {proof['experiments']:,} "
            f"experiments per row. Unless the row says otherwise, they have {blocks} blocks, {journeys} journeys in a "
            "trial, and a standard deviation of 5 % between trials and between blocks. Each of four topologies is "
            "slower than the previous one by the step, and neighbours are compared: in every journey (“the mix”), or "
            "in one journey alone. “Of one only”: one of the four is slower than the others, which are equal."
        ),
    ]


def _show_share(share: Share) -> Cell:
    return show_with_error(share["share"], share["error"])
