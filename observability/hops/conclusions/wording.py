"""Figures as they stand in a sentence: an interval beside its value, both with the same number of decimals."""

from __future__ import annotations

from collections.abc import Sequence

#: Below this share a p value is given as a bound: the digits of a smaller one say nothing.
LEAST_P = 0.001
_MOST_DECIMALS = 6


def decimals_for(values: Sequence[float]) -> int:
    """How many decimals show these values to at least two digits, and none that is not zero as zero.

    Args:
        values: a figure and the ends of its interval, in one unit.
    """
    largest = max((abs(value) for value in values), default=0.0)
    found = 0 if largest >= 100 else 1 if largest >= 1 else 2 if largest >= 0.1 else 3
    while found < _MOST_DECIMALS and any(value and not float(f"{value:.{found}f}") for value in values):
        found += 1
    return found


def number(value: float) -> str:
    """One figure without an interval."""
    return f"{value:,.{decimals_for([value])}f}"


def figure(value: float, ends: Sequence[float | None], unit: str = "") -> str:
    """A figure and its 95 % interval: `3.1 ms (2.7 to 3.6)`; an end that is not known reads `?`.

    Args:
        value: the figure.
        ends: lower and upper; both None leave the brackets out.
        unit: behind the figure, as `ms`.
    """
    known = [end for end in ends if end is not None]
    places = decimals_for([value, *known])
    text = f"{value:,.{places}f}" + (f" {unit}" if unit else "")
    if not known:
        return text
    low, high = ("?" if end is None else f"{end:,.{places}f}" for end in ends)
    return f"{text} ({low} to {high})"


def turned(ends: Sequence[float | None]) -> list[float | None]:
    """An interval of a difference, of the same difference taken the other way round."""
    low, high = ends
    return [None if high is None else -high, None if low is None else -low]


def p_value(value: float) -> str:
    """A p value as `p = 0.012`, or `p < 0.001`."""
    return f"p < {LEAST_P}" if value < LEAST_P else f"p = {value:.3f}"


def times(ratio: float, ends: Sequence[float | None]) -> str:
    """A ratio: `2.1 times (1.9 to 2.3)`."""
    known = [end for end in ends if end is not None]
    # Small ratios differ in the second decimal, large ones do not.
    places = 2 if ratio < 2 else 1
    if not known:
        return f"{ratio:.{places}f} times"
    low, high = ("?" if end is None else f"{end:.{places}f}" for end in ends)
    return f"{ratio:.{places}f} times ({low} to {high})"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def plural(count: int, noun: str) -> str:
    """`1 journey`, `8 journeys`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shown(ends: Sequence[float | None]) -> bool:
    """Whether an interval of a difference is known and leaves zero out."""
    low, high = ends
    return low is not None and high is not None and (low > 0 or high < 0)


def sentence(text: str) -> str:
    """The same words with a full stop behind them."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def clause(reason: str) -> str:
    """A reason why something is not known, as a clause of its own: `it needs 3 blocks`."""
    return f"it {reason}" if reason.startswith("needs ") else reason
