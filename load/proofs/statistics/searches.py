"""Do searches for the highest rate give equal results for equal systems, as single searches and over blocks?"""

from __future__ import annotations

from collections import Counter
from typing import TypedDict

import numpy as np

from hops.elements.element import Element, Text
from hops.elements.table import Table, words
from hops.kinds.capacity.blocks import rate_ratio, widest_step
from hops.kinds.capacity.search import Bounds, SearchResult, Seen, climb, confirm
from hops.statistics.correction import SIGNIFICANCE
from proofs.outcome import Progress
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.experiments import Proof, Rate, is_seldom, over_experiments, rate

BOUNDS = Bounds(20.0, 1000.0)
BLOCKS = 5
APART = 1.15
"""The precision of a search with its back-off, as a ratio of two rates."""
SLOWER = {"equal": 1.0, "slower by 40 %": 1.4}
"""How much longer each journey of the second system takes."""
_OBJECTIVE_MS = 100.0
_USUAL_MS, _SLOW_MS, _SLOW = 5.0, 40.0, 0.03
"""Work of most journeys and of slow journeys, ms, and the share of slow ones."""
_MIN_JOURNEYS, _MIN_S, _MAX_S, _CONFIRM_S = 420, 10.0, 22.0, 30.0
_CLEAR = 2.0


class OfSystems(TypedDict):
    """How often two systems seem to differ: by single searches beyond `APART`, and by the interval over blocks."""

    systems: str
    alone: Rate
    blocks: Rate


class SearchesProof(Proof):
    systems: list[OfSystems]


def prove_searches(experiments: int, seed: int, progress: Progress = lambda _: None) -> SearchesProof:
    """Search for the highest rates of pairs of synthetic systems, each in 5 blocks.

    Fails if equal systems are shown to differ in significantly more than 5 % of the pairs.
    """
    counts = sum(over_experiments(run_experiment, experiments, seed, progress), Counter[tuple[str, str]]())
    systems = []
    for name in SLOWER:
        alone, blocks = (rate(counts[name, how], counts[name, "of"]) for how in ("alone", "blocks"))
        systems.append(OfSystems(systems=name, alone=alone, blocks=blocks))
    holds = is_seldom([systems[0]["blocks"]])
    return SearchesProof(holds=holds, experiments=experiments, seed=seed, systems=systems)


def run_experiment(seed: np.random.SeedSequence) -> Counter[tuple[str, str]]:
    """Searches a pair of systems in blocks, and counts whether they seem to differ."""
    rng = np.random.default_rng(seed)
    name = list(SLOWER)[rng.integers(len(SLOWER))]
    left, right = ([search(slower, rng) for _ in range(BLOCKS)] for slower in (1.0, SLOWER[name]))
    of_left, of_right = ([one.rate for one in side] for side in (left, right))
    ratio = rate_ratio(of_left, of_right, widest_step([*left, *right], BOUNDS.precision))
    counts = Counter({(name, "of"): 1})
    if ratio is not None and None not in ratio["ci95"]:
        low, high = ratio["ci95"]
        counts[name, "blocks"] = int(not (low or 0.0) <= 1 <= (high or 0.0))
    first, second = of_left[0], of_right[0]
    if first and second:
        counts[name, "alone"] = int(max(first / second, second / first) > APART)
    return counts


def search(slower: float, rng: np.random.Generator) -> SearchResult:
    """Searches for the highest rate of a system with one server and a queue."""

    def look(at: float, seconds: float) -> Seen:
        journeys = max(int(rng.poisson(at * seconds)), 1)
        p99 = float(np.quantile(_latencies_ms(at, journeys, slower, rng), 0.99))
        return Seen(at, p99 < _OBJECTIVE_MS, clear=p99 > _CLEAR * _OBJECTIVE_MS)

    bracket = climb(lambda at: look(at, min(max(_MIN_S, _MIN_JOURNEYS / at), _MAX_S)), BOUNDS)
    return confirm(lambda at: look(at, max(_CONFIRM_S, _MIN_JOURNEYS / at)), bracket, BOUNDS)


def _latencies_ms(at: float, journeys: int, slower: float, rng: np.random.Generator) -> np.typing.NDArray[np.float64]:
    """Computes latencies of a queue, from the running minimum of the sum of work minus gaps (D. V. Lindley, 1952)."""
    work = slower * np.where(rng.random(journeys) < _SLOW, _SLOW_MS, _USUAL_MS)
    gaps = rng.exponential(1e3 / at, journeys)
    walk = np.concatenate([[0.0], np.cumsum(work[:-1] - gaps[1:])])
    return np.asarray(walk - np.minimum.accumulate(walk) + work)


def searches_view(proof: SearchesProof) -> list[Element]:
    rows = [[words(row["systems"]), show_rate(row["alone"]), show_rate(row["blocks"])] for row in proof["systems"]]
    columns = name_columns("the second is")
    columns += rate_columns("one search apart by 15 %", f"shown over {BLOCKS} blocks")
    verdict = "not significantly" if proof["holds"] else "significantly"
    return [
        Table("searches", f"Pairs of systems that seem to differ, {proof['experiments']:,} pairs", columns, rows),
        Text(f"Equal systems are shown to differ in {verdict} more than {100 * SIGNIFICANCE:g} %.", tone="verdict"),
    ]
