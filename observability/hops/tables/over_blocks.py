"""Cells for figures with one value per block."""

from __future__ import annotations

import numpy as np

from hops.elements.table import Cell, estimate
from hops.statistics.over_blocks import NO_INTERVAL, spread_of


def over_blocks(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Cell:
    """Formats the mean over blocks, with its Student's t interval; a single block has no interval."""
    mean = float(values.mean())
    return estimate(mean, spread_of(values - mean).around(mean) if values.size > 1 else NO_INTERVAL)
