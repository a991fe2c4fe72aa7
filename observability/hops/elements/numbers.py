"""How figures read wherever a person reads them: in tables three significant digits, in sentences with an interval.

The minus sign is one (−), an end of an interval that the data cannot tell is open (…), and what was not measured is a
dash (–).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

NOTHING = "–"
OPEN = "…"
"""Marks for a figure that was not measured, and for an end of an interval that cannot be known."""
MIN_P = 0.001
"""Below this share a p value is given as a bound: the digits of a smaller one say nothing."""
_MAX_DECIMALS = 6
_MAX_EXCESS = 2.0
"""A smallest difference beyond this ratio says nothing of how large it is, only that there was far too little data."""

Ends = Sequence[float | None]
UNKNOWN: Ends = (None, None)


def plain(value: float | None, *, signed: bool = False) -> str:
    """Three significant digits; thousands in groups; zero as `0`.

    Args:
        value: A figure in any unit; None was not measured.
        signed: Whether to put a plus before what is above zero.
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size < 0.0005:
        return "0"
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
    return _fixed(value, digits, signed=signed)


def count(value: float | None) -> str:
    """A whole number, thousands in groups."""
    return NOTHING if value is None else _fixed(value, 0)


def share(value: float | None, digits: int = 1, *, signed: bool = False) -> str:
    """A share from 0 to 1, in percent."""
    return NOTHING if value is None else f"{_fixed(100 * value, digits, signed=signed)} %"


def interval(ends: Ends, *, signed: bool = False) -> str:
    """`1.2 to 3.4`; an end that the data cannot tell is open; empty if neither is known."""
    if all(end is None for end in ends):
        return ""
    return " to ".join(OPEN if end is None else plain(end, signed=signed) for end in ends)


def chance(p: float | None) -> str:
    """A p value: three decimals, or that it is smaller."""
    return NOTHING if p is None else f"< {MIN_P}" if p < MIN_P else f"{p:.3f}"


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


def figure(value: float, ends: Ends = UNKNOWN, unit: str = "") -> str:
    """A figure and its 95 % interval in a sentence: `3.1 ms (2.7 to 3.6)`, with as many decimals each.

    Args:
        value: The figure.
        ends: Lower and upper end; both None leave the brackets out.
        unit: Unit behind the figure, as `ms`.
    """
    places = decimals_for([value, *(end for end in ends if end is not None)])
    return _beside(_fixed(value, places) + (f" {unit}" if unit else ""), ends, places)


def times(ratio: float, ends: Ends = UNKNOWN) -> str:
    """A ratio in a sentence: `2.1 times (1.9 to 2.3)`."""
    # Small ratios differ in the second decimal, large ones do not.
    places = 2 if ratio < 2 else 1
    return _beside(f"{ratio:.{places}f} times", ends, places)


def excess(least: float, most: float | None = None) -> str:
    """From which ratio on a difference would be seen, in a sentence: `9 %`, `9 % to 13 %`, `nothing below 100 %`.

    Args:
        least: The ratio, above 1.
        most: The largest one, where there are several.
    """
    if least > _MAX_EXCESS:
        return "nothing below 100 %"
    ratios = [least] if most is None else [least, most]
    ends = ["more than 100 %" if one > _MAX_EXCESS else share(one - 1, 0 if one >= 1.01 else 1) for one in ratios]
    return " to ".join(dict.fromkeys(ends))


def p_value(p: float) -> str:
    """A p value in a sentence: `p = 0.012`, or `p < 0.001`."""
    return f"p {chance(p)}" if p < MIN_P else f"p = {chance(p)}"


def decimals_for(values: Sequence[float]) -> int:
    """How many decimals show these values to at least two digits, and none that is not zero as zero.

    Args:
        values: A figure and the ends of its interval, in one unit.
    """
    largest = max((abs(value) for value in values), default=0.0)
    places = 0 if largest >= 100 else 1 if largest >= 1 else 2 if largest >= 0.1 else 3
    while places < _MAX_DECIMALS and any(value and not float(f"{value:.{places}f}") for value in values):
        places += 1
    return places


def _beside(text: str, ends: Ends, places: int) -> str:
    if all(end is None for end in ends):
        return text
    low, high = (OPEN if end is None else _fixed(end, places) for end in ends)
    return f"{text} ({low} to {high})"


def _fixed(value: float, places: int, *, signed: bool = False) -> str:
    return f"{value:{'+' if signed else ''},.{places}f}".replace("-", "−")
