"""Cells for estimates, for figures with one value per block, and for the verdict on two estimates."""

from __future__ import annotations

import numpy as np

from hops.elements import numbers
from hops.elements.table import Cell, estimate
from hops.run.documents.estimate import Agreement, Estimate
from hops.statistics.over_blocks import NO_INTERVAL, spread_of


def estimate_cell(one: Estimate | None, *, signed: bool = False) -> Cell:
    """Formats an estimate with its interval; a dash if it is None."""
    return estimate(None, numbers.UNKNOWN) if one is None else estimate(one["value"], one["ci95"], signed=signed)


def agreement_cell(verdict: Agreement, reason: str | None) -> Cell:
    """Describes whether two figures agree, or why that is unknown."""
    return Cell(verdict, verdict, tone="bad" if verdict == "differ" else "", note=reason or "")


def over_blocks(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Cell:
    """Formats the mean over blocks, with its Student's t interval; a single block has no interval."""
    mean = float(values.mean())
    return estimate(mean, spread_of(values - mean).around(mean) if values.size > 1 else NO_INTERVAL)
