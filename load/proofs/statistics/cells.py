"""Columns and cells that several tables share."""

from __future__ import annotations

from collections.abc import Sequence

from hops.elements import numbers
from hops.elements.table import Cell, Column, estimate
from proofs.statistics.experiments import Rate


def name_columns(*names: str) -> list[Column]:
    return [Column(name, numeric=False) for name in names]


def rate_columns(*names: str) -> list[Column]:
    return [Column(name, "%", interval=True) for name in names]


def show_with_error(share: float, error: float) -> Cell:
    return Cell(f"{numbers.share(share)} ± {100 * error:.1f}", share)


def show_rate(rate: Rate) -> Cell:
    return show_percent(rate["rate"], rate["ci95"])


def show_percent(value: float, ends: Sequence[float], *, signed: bool = False) -> Cell:
    """Formats a share from 0 to 1 as percent."""
    return estimate(100 * value, [100 * end for end in ends], signed=signed)
