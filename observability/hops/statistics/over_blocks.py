"""95 % intervals that respect blocks.

Journeys of one trial share a warm cache, a busy neighbour, and the order of the processes. So they are not independent,
and thousands of them say little about the next trial. Blocks are independent. Every figure here is computed from the
rows of all blocks together, and again from each block. The deviations of the blocks' values from the overall value give
the standard error. Student's t with one degree of freedom fewer than blocks gives the interval. If blocks have too few
rows for a percentile, neighbouring blocks are merged, but at least 3 sections remain. This is sectioning, known from
the analysis of simulation output (Asmussen and Glynn, *Stochastic Simulation*, 2007, III.5a; for quantiles Nakayama,
ACM TOMACS 24(4), 2014). Deviations are computed on logarithms, because latencies are skewed and blocks shift them by
factors. ADR 010 has the measured coverage of this method and of the alternatives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hops.statistics import student
from hops.statistics.intervals import PERCENTILES, Floats, Interval, t_quantile
from hops.statistics.two_stage import of_first_stage

MEAN = "mean"
NO_INTERVAL: Interval = (None, None)

#: Two blocks have one degree of freedom: a t quantile of 12.7, and an interval too wide to be useful.
MIN_BLOCKS = 3
#: Minimum number of rows in a block, on average, on the thinner side of a percentile. With fewer, a block's percentile
#: is little more than its largest value.
MIN_BEYOND = 2
#: Minimum number of rows in a block, on average, for a mean.
MIN_ROWS = 5


@dataclass(frozen=True, slots=True)
class Spread:
    """Scatter of an estimate.

    Args:
        error: Standard error of the estimate.
        freedom: Degrees of freedom of Student's t.
        first_stage: Scatter from the first stage only (`hops.statistics.two_stage`), if there was such a stage. The
            less certain of both is used.
    """

    error: float
    freedom: float
    first_stage: Spread | None = None

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval around the estimate."""
        own = t_quantile(self.freedom) * self.error
        return own if self.first_stage is None else max(own, self.first_stage.half_width)

    @property
    def widest(self) -> Spread:
        """The less certain of this spread and the spread of the first stage."""
        own = replace(self, first_stage=None)
        return own if self.first_stage is None else max(own, self.first_stage, key=lambda spread: spread.half_width)

    def around(self, estimate: float) -> tuple[float, float]:
        """Computes the 95 % interval of an estimate."""
        return (estimate - self.half_width, estimate + self.half_width)

    def p_value(self, estimate: float) -> float:
        """Computes the probability of an estimate at least this far from 0, on either side, if the truth is 0."""
        if not estimate:
            return 1.0
        own = student.two_sided(estimate / self.error, self.freedom) if self.error else 0.0
        return own if self.first_stage is None else max(own, self.first_stage.p_value(estimate))


def spread_of(deviations: Floats, first: int | None = None) -> Spread:
    """Computes how far a figure scatters over its blocks.

    The deviations are from the overall value, not from their mean. All deviations may be off on the same side, because
    a percentile of few rows is biased; then the interval is wider.

    Args:
        deviations: Deviation of each block's value from the overall value; at least 2.
        first: Number of blocks in the first stage (`hops.statistics.two_stage`); None if all blocks were planned.
    """
    own, *by_first = (Spread(float(errors), freedom) for errors, freedom in scatter_of(deviations, first))
    return replace(own, first_stage=by_first[0]) if by_first else own


def scatter_of(deviations: Floats, first: int | None) -> list[tuple[Floats, int]]:
    """Computes standard errors and degrees of freedom of several figures: over all blocks, and over the first stage.

    Args:
        deviations: As in `spread_of`, a row per block.
        first: As in `spread_of`.
    """
    sides = [deviations]
    if first is not None and first < len(deviations):
        sides.append(of_first_stage(deviations, first))
    return [(standard_errors(side), len(side) - 1) for side in sides]


def standard_errors(deviations: Floats) -> Floats:
    """Computes standard errors of several figures at once.

    Args:
        deviations: As in `spread_of`, a row per block.
    """
    blocks = deviations.shape[0]
    return np.asarray(np.sqrt((deviations**2).sum(axis=0) / (blocks - 1) / blocks))


@dataclass(frozen=True, slots=True)
class Section:
    """One figure, overall and by block.

    Args:
        value: Value from all rows together; None without rows.
        by_block: Values from the rows of each block, or of each group of neighbouring blocks, in order; empty if there
            is no interval.
        reason: Why there is no interval; None if there is one.
        first: How many of the sections belong to the first stage, as in `spread_of`.
    """

    value: float | None
    by_block: Floats
    reason: str | None = None
    first: int | None = None

    @property
    def deviations(self) -> Floats:
        """Logarithm of each block's value divided by the overall value."""
        assert self.value is not None
        return np.asarray(np.log(self.by_block / self.value))

    @property
    def interval(self) -> Interval:
        """95 % interval, in the unit of the value."""
        if self.value is None or self.reason is not None:
            return NO_INTERVAL
        reach = float(np.exp(spread_of(self.deviations, self.first).half_width))
        return (self.value / reach, self.value * reach)


def sections_of(
    blocks: Sequence[npt.ArrayLike], per_block: float | None = None, first: int | None = None
) -> dict[str, Section]:
    """Computes mean and percentiles of positive values, overall and by block.

    Args:
        blocks: Values of each block, all positive.
        per_block: Number of values per block, which decides how many blocks are merged; if None, the mean number. Both
            sides of a comparison need the same number.
        first: Number of blocks in the first stage (`hops.statistics.two_stage`); None if all blocks were planned.

    Returns:
        `mean` and each of `statistics.PERCENTILES`.
    """
    values = [np.asarray(block, dtype=np.float64) for block in blocks]
    pooled = np.concatenate(values) if values else np.empty(0)
    names = (MEAN, *PERCENTILES)
    if not pooled.size:
        return dict.fromkeys(names, Section(None, np.empty(0), "there is no journey that ended ok"))
    count = pooled.size if per_block is None else round(per_block * len(values))
    whole = _figures(pooled)
    deciding = min(first or len(values), len(values))
    by_block: dict[int, Floats] = {}
    results = {}
    for index, name in enumerate(names):
        sections, reason = _sections(deciding, round(count * deciding / len(values)), PERCENTILES.get(name))
        if reason is None and not all(block.size for block in values):
            reason = "a block has no such journey"
        if reason is None and sections not in by_block:
            parts = _parts(len(values), deciding, sections)
            by_block[sections] = _figures_of_each([np.concatenate([values[at] for at in part]) for part in parts])
        results[name] = Section(
            float(whole[index]),
            by_block[sections][:, index] if reason is None else np.empty(0),
            reason,
            None if first is None else sections,
        )
    return results


def rate_section(blocks: Iterable[tuple[float, int]], scale: float, first: int | None = None) -> Section:
    """Computes the cost of one journey, overall and by block.

    Args:
        blocks: Amount used and number of journeys, of each block.
        scale: Factor from the unit of the amount to that of the figure.
        first: As in `spread_of`.
    """
    used = np.array(list(blocks), dtype=np.float64).reshape(-1, 2)
    if not used[:, 1].sum():
        return Section(None, np.empty(0), "there is no journey")
    value = float(used[:, 0].sum() / used[:, 1].sum() * scale)
    reason = refusal(len(used), int(used[:, 1].sum()), None)
    if reason is None and not (used > 0).all():
        reason = "nothing was used in a block"
    return Section(value, np.empty(0) if reason else used[:, 0] / used[:, 1] * scale, reason, first)


def refusal(blocks: int, rows: int, share: float | None) -> str | None:
    """Explains why there are too few data for an interval; None if there are enough.

    Args:
        blocks: Number of blocks.
        rows: Number of rows in all blocks.
        share: Share of the percentile, 0 to 1; None for a mean.
    """
    if blocks < MIN_BLOCKS:
        return f"needs {MIN_BLOCKS} blocks, and there {'is' if blocks == 1 else 'are'} {blocks}"
    least = _least(share)
    if rows + 1e-6 < least * blocks:
        return f"needs {round(least)} journeys in a block, and there are {math.floor(rows / blocks)}"
    return None


def _sections(blocks: int, rows: int, share: float | None) -> tuple[int, str | None]:
    """Computes the number of sections if as few neighbouring blocks as possible are merged, or says why there are none.

    Args:
        blocks: Number of blocks.
        rows: Number of rows in all blocks.
        share: Share of the percentile, 0 to 1; None for a mean.
    """
    together = max(1, math.ceil(_least(share) * blocks / rows - 1e-6)) if rows else blocks + 1
    most = max(1, blocks // MIN_BLOCKS)
    if blocks < MIN_BLOCKS or together <= most:
        return blocks // together, refusal(blocks, rows * together, share)
    return 0, f"needs {math.ceil(_least(share) * blocks / most):,} journeys, and there are {rows:,}"


def _parts(blocks: int, first: int, sections: int) -> list[npt.NDArray[np.intp]]:
    """Lists which neighbouring blocks are merged; blocks of the first stage are not merged with others.

    Args:
        blocks: Number of blocks.
        first: Number of blocks in the first stage; if there is none, the number of all blocks.
        sections: Number of sections in the first stage.
    """
    parts = np.array_split(np.arange(first), sections)
    later = np.arange(first, blocks)
    if more := later.size * sections // first:
        return [*parts, *np.array_split(later, more)]
    # Too few later blocks for a separate section.
    return [*parts[:-1], np.concatenate([parts[-1], later])]


def _least(share: float | None) -> float:
    return MIN_ROWS if share is None else MIN_BEYOND / min(share, 1 - share)


def _figures(values: Floats) -> Floats:
    return np.array([values.mean(axis=-1), *np.quantile(values, list(PERCENTILES.values()), axis=-1)])


def _figures_of_each(sections: Sequence[Floats]) -> Floats:
    """Computes the figures of each section, in one step if all have the same size, as on one tape without failures."""
    if len({section.size for section in sections}) == 1:
        return np.asarray(_figures(np.stack(sections)).T)
    return np.array([_figures(section) for section in sections])
