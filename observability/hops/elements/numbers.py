"""Formats figures for people: with three significant digits in tables, and with an interval in sentences.

The minus sign is a real one (−), an unknown end of an interval is open (…), and a figure that was not measured is a
dash (–).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

NOTHING = "–"
OPEN = "…"
"""Marks for a figure that was not measured, and for an unknown end of an interval."""
MIN_P = 0.001
"""A p value below this limit is given as a bound: more digits would be meaningless."""
_MAX_DECIMALS = 6
_MAX_EXCESS = 2.0
"""Above this ratio, the smallest detectable difference only means that there was far too little data."""

Ends = Sequence[float | None]
UNKNOWN: Ends = (None, None)


def plain(value: float | None, *, signed: bool = False) -> str:
    """Formats a figure with three significant digits, with grouped thousands; zero as `0`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size < 0.0005:
        return "0"
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
    return _format(value, digits, signed=signed)


def count(value: float | None) -> str:
    """Formats a whole number, with grouped thousands."""
    return NOTHING if value is None else _format(value, 0)


def share(value: float | None, digits: int = 1, *, signed: bool = False) -> str:
    """Formats a share from 0 to 1 in percent."""
    return NOTHING if value is None else f"{_format(100 * value, digits, signed=signed)} %"


def interval(ends: Ends, *, signed: bool = False) -> str:
    """Formats an interval: `1.2 to 3.4`; an unknown end as `…`; empty if both ends are unknown."""
    if all(end is None for end in ends):
        return ""
    return " to ".join(OPEN if end is None else plain(end, signed=signed) for end in ends)


def chance(p: float | None) -> str:
    """Formats a p value with three decimals, or as a bound."""
    return NOTHING if p is None else f"< {MIN_P}" if p < MIN_P else f"{p:.3f}"


def seconds(value: float) -> str:
    """Formats a duration in one or two suitable units."""
    if value < 60:
        return f"{value:.0f} s"
    whole = round(value)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if left else f"{minutes} min"


def figure(value: float, ends: Ends = UNKNOWN, unit: str = "", least: int = 0) -> str:
    """Formats a figure and its 95 % interval for a sentence: `3.1 ms (2.7 to 3.6)`, with at least `least` decimals."""
    places = max(least, decimals_for([value, *(end for end in ends if end is not None)]))
    return _with_interval(_format(value, places) + (f" {unit}" if unit else ""), ends, places)


def times(ratio: float, ends: Ends = UNKNOWN) -> str:
    """Formats a ratio for a sentence: `2.1 times (1.9 to 2.3)`."""
    # The second decimal matters only for small ratios.
    places = 2 if ratio < 2 else 1
    return _with_interval(f"{ratio:.{places}f} times", ends, places)


def excess(least: float, most: float | None = None) -> str:
    """Describes, by ratios above 1, the difference that would show: `9 %`, `9 % to 13 %`, `nothing below 100 %`."""
    if least > _MAX_EXCESS:
        return "nothing below 100 %"
    ratios = [least] if most is None else [least, most]
    ends = ["more than 100 %" if one > _MAX_EXCESS else share(one - 1, 0 if one >= 1.01 else 1) for one in ratios]
    return " to ".join(dict.fromkeys(ends))


def p_value(p: float) -> str:
    """Formats a p value for a sentence: `p = 0.012`, or `p < 0.001`."""
    return f"p {chance(p)}" if p < MIN_P else f"p = {chance(p)}"


def decimals_for(values: Sequence[float]) -> int:
    """Computes how many decimals to show: few for large values, but enough that only zero reads as zero."""
    largest = max((abs(value) for value in values), default=0.0)
    places = 0 if largest >= 100 or not largest else 1 if largest >= 1 else 2 if largest >= 0.1 else 3
    while places < _MAX_DECIMALS and any(value and not float(f"{value:.{places}f}") for value in values):
        places += 1
    return places


def _with_interval(text: str, ends: Ends, places: int) -> str:
    if all(end is None for end in ends):
        return text
    low, high = (OPEN if end is None else _format(end, places) for end in ends)
    return f"{text} ({low} to {high})"


def _format(value: float, places: int, *, signed: bool = False) -> str:
    return f"{value:{'+' if signed else ''},.{places}f}".replace("-", "−")
