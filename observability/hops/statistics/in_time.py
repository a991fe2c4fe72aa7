"""Figures of rows in chronological order, with intervals over sections of time.

Neighbouring rows are correlated, like journeys of one block (`hops.statistics.over_blocks`), but there are no blocks.
So the rows are cut, in their order, into up to `MAX_SECTIONS` sections of equal size. A figure is computed from all
rows and again from each section, and the sections' deviations from the overall value give its interval. Sections that
are longer than disturbances are nearly independent; if a whole set of rows was slow, its own rows do not show it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hops.statistics import student
from hops.statistics.contrast import spread_if_independent
from hops.statistics.intervals import CONFIDENCE, Floats, Interval
from hops.statistics.over_blocks import MIN_BEYOND, MIN_BLOCKS, MIN_ROWS, NO_INTERVAL, Section, spread_of

MAX_SECTIONS = 8
Figure = Callable[[Floats], float]
"""Computes one number from rows."""


def least_rows(share: float | None) -> float:
    """Computes how many rows a section needs for a percentile, or for a mean if `share` is None."""
    return MIN_ROWS if share is None else max(MIN_ROWS, MIN_BEYOND / min(share, 1 - share))


def in_time(rows: Floats, figure: Figure, least: float) -> Section:
    """Computes a figure, overall and by section.

    Args:
        rows: Rows with one or more values each, in chronological order.
        figure: Computes the figure.
        least: Minimum number of rows in a section.
    """
    if not len(rows):
        return Section(None, np.empty(0), "there is no such trace")
    sections = min(MAX_SECTIONS, int(len(rows) / least + 1e-6))
    if sections < MIN_BLOCKS:
        wanted = math.ceil(least * MIN_BLOCKS - 1e-6)
        are = "is" if len(rows) == 1 else "are"
        return Section(float(figure(rows)), np.empty(0), f"needs {wanted:,} traces, and there {are} {len(rows):,}")
    return Section(float(figure(rows)), np.array([figure(part) for part in np.array_split(rows, sections)]))


def interval_of(section: Section, *, confidence: float = CONFIDENCE, ahead: float = 0.0) -> Interval:
    """Computes the interval of a figure that may be 0, but not negative.

    Args:
        section: The figure.
        confidence: Confidence, between 0 and 1.
        ahead: To predict what other rows would show, the number of these rows divided by the number of the other rows;
            0 for the interval of the figure itself.
    """
    if section.value is None or section.reason is not None:
        return NO_INTERVAL
    is_log = bool(section.value > 0 and (section.by_block > 0).all())
    spread = spread_of(section.deviations if is_log else section.by_block - section.value)
    reach = student.quantile(confidence, spread.freedom) * spread.error * math.sqrt(1 + ahead)
    if is_log:
        return section.value / math.exp(reach), section.value * math.exp(reach)
    return max(0.0, section.value - reach), section.value + reach


def difference(left: Section, right: Section) -> tuple[float, Interval, float | None]:
    """Compares two figures that share no rows and may be 0.

    Args:
        left: Left figure, with a value.
        right: Right figure, with a value.

    Returns:
        Right minus left, its 95 % interval, and p.
    """
    assert left.value is not None
    assert right.value is not None
    size = right.value - left.value
    if left.reason or right.reason:
        return size, NO_INTERVAL, None
    spread = spread_if_independent(left.by_block - left.value, right.by_block - right.value)
    return size, spread.around(size), spread.p_value(size)
