"""How messages name a user's input, and the valid alternatives."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def valid(given: object, choices: Iterable[str]) -> str:
    """Writes `did you mean web? valid: web, mobile, partner`; without the question if no choice is similar."""
    known = list(choices)
    near = get_close_matches(str(given), known, 1)
    return f"{f'did you mean {near[0]}? ' if near else ''}valid: {', '.join(known)}"


def describe(value: object) -> str:
    """Describes a value for a message."""
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case str():
            return repr(value if len(value) <= 60 else f"{value[:60]}…")
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case float() if value.is_integer():
            return f"{value:,.0f}"
        case _:
            return str(value)[:60]


def in_quotes(value: object) -> str:
    """Advises quotes for a value that YAML does not read as text; empty if quotes would not help."""
    if isinstance(value, bool):
        return ": put it in quotes, as YAML reads on, off, yes and no as true and false"
    return ": put it in quotes" if isinstance(value, int | float) else ""
