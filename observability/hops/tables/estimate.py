"""Cells of an estimate, and of the verdict on two of them."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.table import Cell, estimate
from hops.run.documents.estimate import Agreement, Estimate


def estimated(one: Estimate | None, *, signed: bool = False) -> Cell:
    """An estimate with its interval; a dash if there is none."""
    return estimate(None, numbers.UNKNOWN) if one is None else estimate(one["value"], one["ci95"], signed=signed)


def agreed(verdict: Agreement, reason: str | None) -> Cell:
    """Whether two figures agree, and why that is not known."""
    return Cell(verdict, verdict, tone="bad" if verdict == "differ" else "", note=reason or "")
