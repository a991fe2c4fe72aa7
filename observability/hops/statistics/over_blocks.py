"""95 % intervals that respect blocks.

Journeys of one trial share its luck: a warm cache, a busy neighbour, the order of the processes. So they are not
independent, and thousands of them say little about the next trial. Independent are the blocks. Every figure here is
computed from the rows of all blocks together, and again from each block; how far the blocks' values lie from the whole
gives the standard error, and Student's t with one degree of freedom less than blocks gives the interval. This is
sectioning, known from the analysis of simulation output (Asmussen and Glynn, *Stochastic Simulation*, 2007, III.5a;
for quantiles Nakayama, ACM TOMACS 24(4), 2014). Deviations are those of logarithms, as latencies are skewed and blocks
shift them by factors. ADR 010 has the measured coverage of this and of what else was tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from hops.statistics.sample import CONFIDENCE, PERCENTILES, Floats, Interval

MEAN = "mean"
NO_INTERVAL: Interval = (None, None)

#: Two blocks have one degree of freedom: a t quantile of 12.7, an interval that says nothing.
LEAST_BLOCKS = 3
#: Rows that a block must have, on average, on the thinner side of a percentile. With fewer, a block's percentile is
#: little more than its largest value.
LEAST_BEYOND = 2
#: Rows that a block must have, on average, for a mean.
LEAST_ROWS = 5


@dataclass(frozen=True, slots=True)
class Spread:
    """How far an estimate scatters.

    Args:
        error: standard error of the estimate.
        freedom: degrees of freedom of Student's t.
    """

    error: float
    freedom: float

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval around the estimate."""
        return float(special.stdtrit(self.freedom, (1 + CONFIDENCE) / 2) * self.error)

    def around(self, estimate: float) -> tuple[float, float]:
        """The 95 % interval of an estimate."""
        return (estimate - self.half_width, estimate + self.half_width)

    def p_value(self, estimate: float) -> float:
        """Probability of an estimate at least this far from 0, on either side, if the truth is 0."""
        if not estimate:
            return 1.0
        return float(2 * special.stdtr(self.freedom, -abs(estimate) / self.error)) if self.error else 0.0


def spread_of(deviations: Floats) -> Spread:
    """How far a figure scatters over its blocks.

    The deviations are from the whole's value and not from their mean, which they may miss together (a percentile of few
    rows is biased): this makes the interval wider where that is so.

    Args:
        deviations: how far each block's value lies from the whole's; at least 2.
    """
    blocks = deviations.size
    return Spread(float(np.sqrt((deviations**2).sum() / (blocks - 1) / blocks)), blocks - 1)


@dataclass(frozen=True, slots=True)
class Section:
    """One figure, whole and by block.

    Args:
        value: from all rows together; None if there is no row.
        by_block: from each block's rows, in the order of the blocks; empty if it has no interval.
        reason: why it has no interval; None if it has one.
    """

    value: float | None
    by_block: Floats
    reason: str | None = None

    @property
    def deviations(self) -> Floats:
        """Logarithms of each block's value over the whole's."""
        assert self.value is not None
        return np.asarray(np.log(self.by_block / self.value))

    @property
    def interval(self) -> Interval:
        """95 % interval, in the unit of the value."""
        if self.value is None or self.reason is not None:
            return NO_INTERVAL
        reach = float(np.exp(spread_of(self.deviations).half_width))
        return (self.value / reach, self.value * reach)


def sections_of(blocks: Sequence[npt.ArrayLike]) -> dict[str, Section]:
    """Mean and percentiles of positive values, whole and by block.

    Args:
        blocks: values of each block; each positive.

    Returns:
        `mean` and each of `statistics.PERCENTILES`.
    """
    values = [np.asarray(block, dtype=np.float64) for block in blocks]
    pooled = np.concatenate(values) if values else np.empty(0)
    names = (MEAN, *PERCENTILES)
    if not pooled.size:
        return dict.fromkeys(names, Section(None, np.empty(0), "there is no journey that ended ok"))
    whole = _figures(pooled)
    refused = {name: refusal(len(values), pooled.size, PERCENTILES.get(name)) for name in names}
    if not all(refused.values()) and all(block.size for block in values):
        by_block = np.array([_figures(block) for block in values])
    else:
        refused = {name: reason or "a block has no such journey" for name, reason in refused.items()}
        by_block = np.empty((0, len(names)))
    return {
        name: Section(float(whole[index]), by_block[:, index] if refused[name] is None else np.empty(0), refused[name])
        for index, name in enumerate(names)
    }


def rate_section(blocks: Iterable[tuple[float, int]], scale: float) -> Section:
    """What one journey costs, whole and by block.

    Args:
        blocks: (what was used, journeys) of each block.
        scale: from the unit of what was used to that of the figure.
    """
    used = np.array(list(blocks), dtype=np.float64).reshape(-1, 2)
    if not used[:, 1].sum():
        return Section(None, np.empty(0), "there is no journey")
    value = float(used[:, 0].sum() / used[:, 1].sum() * scale)
    reason = refusal(len(used), int(used[:, 1].sum()), None)
    if reason is None and not (used > 0).all():
        reason = "nothing was used in a block"
    return Section(value, np.empty(0) if reason else used[:, 0] / used[:, 1] * scale, reason)


def refusal(blocks: int, rows: int, share: float | None) -> str | None:
    """Why so few data give no interval; None if they do.

    Args:
        blocks: how many there are.
        rows: in all of them.
        share: of the percentile, 0 to 1; None for a mean.
    """
    if blocks < LEAST_BLOCKS:
        return f"needs {LEAST_BLOCKS} blocks, and there {'is' if blocks == 1 else 'are'} {blocks}"
    least = LEAST_ROWS if share is None else LEAST_BEYOND / min(share, 1 - share)
    if rows + 1e-6 < least * blocks:
        return f"needs {round(least)} journeys in a block, and there are {rows / blocks:.0f}"
    return None


def _figures(values: Floats) -> Floats:
    return np.array([values.mean(), *np.quantile(values, list(PERCENTILES.values()))])
