"""How figures read: three significant digits, one unit, the minus sign that is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Stands for a figure that was not measured, and for an end of an interval that cannot be known.
NOTHING = "–"
OPEN = "…"

Ends = Sequence[float | None]


def plain(value: float | None, *, signed: bool = False) -> str:
    """Three significant digits; thousands in groups; zero as `0`.

    Args:
        value: in any unit; None was not measured.
        signed: put a plus before what is above zero.
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size < 0.0005:
        return "0"
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
    text = f"{size:,.{digits}f}"
    return ("−" if value < 0 else "+" if signed else "") + text


def count(value: float | None) -> str:
    """A whole number, thousands in groups."""
    return NOTHING if value is None else f"{value:,.0f}".replace("-", "−")


def share(value: float | None, digits: int = 1) -> str:
    """A share from 0 to 1, in percent."""
    return NOTHING if value is None else f"{100 * value:.{digits}f} %"


def interval(ends: Ends, *, signed: bool = False) -> str:
    """`1.2 to 3.4`; an end that the data cannot tell is open; empty if neither is known."""
    low, high = ends
    if low is None and high is None:
        return ""
    return f"{_end(low, signed)} to {_end(high, signed)}"


def chance(p: float | None) -> str:
    """A p value: three decimals, or that it is smaller."""
    return NOTHING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def seconds(value: float) -> str:
    """A duration, in the two units that suit it."""
    if value < 60:
        return f"{value:.0f} s"
    whole = round(value)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if left else f"{minutes} min"


def _end(value: float | None, signed: bool) -> str:
    return OPEN if value is None else plain(value, signed=signed)
