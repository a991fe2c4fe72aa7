"""Checks arguments; each check raises `InvalidArgument` with the field's name and the valid values."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence

from shop.errors import InvalidArgument
from shop.fields import MAX_ID
from shop.money import CURRENCIES, Money

MAX_IDS = 1_000
"""Maximum number of ids in one call."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def between(value: int, field: str, minimum: int, maximum: int) -> int:
    """Returns a whole number if it lies in a range, both ends included."""
    if not minimum <= value <= maximum:
        raise InvalidArgument(f"{field} is {value}; it must be from {minimum} to {maximum}", field=field)
    return value


def identifier(value: int, field: str) -> int:
    """Returns an identifier if it is at least 1 and fits 64 bits."""
    return between(value, field, 1, MAX_ID)


def identifiers(values: Sequence[int], field: str) -> list[int]:
    """Returns identifiers without repetitions, in order, if there are 1 to `MAX_IDS` of them."""
    if not 1 <= len(values) <= MAX_IDS:
        raise InvalidArgument(f"{field} has {len(values)} entries; it must have 1 to {MAX_IDS}", field=field)
    for index, value in enumerate(values):
        identifier(value, f"{field}[{index}]")
    return list(dict.fromkeys(values))


def size(value: int, field: str, *, default: int, maximum: int) -> int:
    """Returns the number of items to return: 1 to `maximum`, or the default if the caller sent 0."""
    if value == 0:
        return default
    if not 1 <= value <= maximum:
        raise InvalidArgument(f"{field} is {value}; it must be from 1 to {maximum}, or 0 for {default}", field=field)
    return value


def text(value: str, field: str, minimum: int, maximum: int) -> str:
    """Returns a text if its length in characters is in range and PostgreSQL can store it."""
    if not minimum <= len(value) <= maximum:
        raise InvalidArgument(f"{field} has {len(value)} characters; it must have {minimum} to {maximum}", field=field)
    # PostgreSQL stores neither NUL nor half of a surrogate pair.
    if "\x00" in value or not _encodable(value):
        raise InvalidArgument(f"{field} contains an invalid character: NUL or a lone surrogate", field=field)
    return value


def line(value: str, field: str, minimum: int, maximum: int) -> str:
    """Returns a text if it passes `text`, has a visible character, and has no control characters."""
    text(value, field, minimum, maximum)
    if _CONTROL.search(value) or not any(each.isprintable() for each in value if each != " "):
        raise InvalidArgument(f"{field} must have a visible character and no control characters", field=field)
    return value


def matching(value: str, field: str, pattern: re.Pattern[str], form: str) -> str:
    """Returns a text if all of it matches a pattern; `form` describes the pattern in words."""
    if not pattern.fullmatch(value):
        raise InvalidArgument(f"{field} must be {form}", field=field)
    return value


def uuid_text(value: str, field: str) -> str:
    """Returns a UUID in its usual form: lower case, with hyphens."""
    try:
        if len(value) == 36:
            return str(uuid.UUID(value))
    except ValueError:
        pass
    raise InvalidArgument(f"{field} must be a UUID, such as 01234567-89ab-cdef-0123-456789abcdef", field=field)


def positive_money(value: Money, field: str, *, maximum: int) -> Money:
    """Returns an amount if it is from 1 to `maximum` minor units and its currency has a code of ISO 4217."""
    between(value.amount_minor, f"{field}.amount_minor", 1, maximum)
    if value.currency not in CURRENCIES:
        raise InvalidArgument(
            f"{field}.currency must be an ISO 4217 code in capitals, such as EUR", field=f"{field}.currency"
        )
    return value


def distinct(values: Sequence[int], field: Callable[[int], str]) -> None:
    """Checks that a list has no repetitions; `field` names the entry at an index."""
    seen: set[int] = set()
    for index, value in enumerate(values):
        if value in seen:
            raise InvalidArgument(f"{field(index)} is {value}, which is in the list already", field=field(index))
        seen.add(value)


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
