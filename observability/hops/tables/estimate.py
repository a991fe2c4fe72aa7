"""Cells for an estimate, and for the verdict on two estimates."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.table import Cell, estimate
from hops.run.documents.estimate import Agreement, Estimate


def estimate_cell(one: Estimate | None, *, signed: bool = False) -> Cell:
    """Formats an estimate with its interval; a dash if it is None."""
    return estimate(None, numbers.UNKNOWN) if one is None else estimate(one["value"], one["ci95"], signed=signed)


def agreement_cell(verdict: Agreement, reason: str | None) -> Cell:
    """Describes whether two figures agree, or why that is unknown."""
    return Cell(verdict, verdict, tone="bad" if verdict == "differ" else "", note=reason or "")
