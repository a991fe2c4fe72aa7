"""Cells of figures with one value per block."""

from __future__ import annotations

import numpy as np

from hops.elements.table import Cell, estimate
from hops.statistics.over_blocks import NO_INTERVAL, spread_of


def over_blocks(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Cell:
    """Formats the mean over blocks, with its interval by Student's t; without an interval for a single block."""
    mean = float(values.mean())
    return estimate(mean, spread_of(values - mean).around(mean) if values.size > 1 else NO_INTERVAL)
