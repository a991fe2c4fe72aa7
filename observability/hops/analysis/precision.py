"""How precise a comparison is: the half-width of the widest interval of the mix's ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hops.analysis.latencies import Latencies, intersect_blocks, pair_sections
from hops.run.documents.difference import Comparison
from hops.run.documents.summary import Precision
from hops.run.files import RunFiles
from hops.statistics.contrast import contrast
from hops.statistics.two_stage import blocks_for, half_width_of, scatter_of
from hops.units import ALL

METRIC = "p50"


def half_widths(comparisons: Sequence[Comparison]) -> list[float]:
    """Computes the half-width, in logarithms, of each 95 % interval of a ratio of two topologies' p50 of the mix.

    Empty if a pair has no interval.
    """
    return _widths([row["ratio_ci95"] for row in comparisons if (row["journey"], row["metric"]) == (ALL, METRIC)])


def _widths(intervals: Iterable[Sequence[float | None]]) -> list[float]:
    widths = []
    for low, high in intervals:
        if low is None or high is None:
            return []
        widths.append(math.log(high / low) / 2)
    return widths


@dataclass(frozen=True, slots=True)
class Decided:
    """How many blocks a precision needs, as estimated from the blocks that ran.

    Args:
        asked: Requested precision, as a share.
        first_stage: Number of blocks that ran before their figures were read.
        scatter: Scatter of single trials, as a share; None if a pair has no interval.
        needed: Number of blocks that the precision needs; `ran` if it is reached; None if a pair has no interval.
    """

    asked: float
    first_stage: int
    ran: int
    scatter: float | None
    needed: int | None

    def blocks(self, most: int) -> int:
        """Returns how many blocks to run: as many as are needed, or as ran so far if more are needed than allowed."""
        return self.needed if self.needed is not None and self.needed <= most else self.ran


def decide(latencies: Mapping[str, Latencies], asked: float, ran: int) -> Decided:
    """Decides how many blocks are needed, from finished trials only: the same trials always give the same decision.

    A block counts only if every topology has a journey in it that ended ok: pairs need the same blocks.
    """
    first = next(iter(latencies.values())).first or ran
    blocks = intersect_blocks(latencies.values())
    widths = _half_widths(latencies, blocks)
    if not widths:
        return Decided(asked, first, ran, None, None)
    # For the scatter of single trials, the trials of all stages count.
    alike = {name: Latencies(side.cells) for name, side in latencies.items()}
    scatter = scatter_of(_half_widths(alike, blocks), len(blocks))
    needed = ran - len(blocks) + blocks_for(max(widths), len(blocks), half_width_of(asked))
    return Decided(asked, first, ran, scatter, needed)


def _half_widths(latencies: Mapping[str, Latencies], blocks: Sequence[int]) -> list[float]:
    """Computes the same as `half_widths`, but without the other results of `compare_latencies`."""
    pairs = (pair_sections(*sides, ALL, blocks, blocks) for sides in combinations(latencies.values(), 2))
    return _widths(contrast(left[METRIC], right[METRIC]).ratio_interval for left, right in pairs)


def precision_of(run: RunFiles, comparisons: Sequence[Comparison]) -> Precision | None:
    """Returns the requested and the reached precision of the run; None if no precision was requested."""
    if "precision" not in run.manifest:
        return None
    decided = Decided(**run.manifest["precision"])
    widths = half_widths(comparisons)
    return Precision(
        asked=decided.asked,
        first_stage=decided.first_stage,
        scatter=decided.scatter,
        needed=decided.needed,
        reached=math.expm1(max(widths)) if widths else None,
        met=decided.needed is not None and decided.ran >= decided.needed,
    )
