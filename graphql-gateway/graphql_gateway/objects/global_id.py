"""Relay's global identifiers: base64 of the type's name and the service's id, "Product:12"."""

from __future__ import annotations

import binascii
from binascii import a2b_base64, b2a_base64

from shop.errors import InvalidArgument


def global_id(kind: str, number: int) -> str:
    """Returns the global identifier of one thing.

    >>> global_id("Product", 12)
    'UHJvZHVjdDoxMg=='
    """
    return b2a_base64(f"{kind}:{number}".encode(), newline=False).decode()


def split_global_id(value: str, field: str = "id") -> tuple[str, int]:
    """Returns type and service's id in a global identifier; raises `InvalidArgument` for another text."""
    try:
        kind, _, digits = a2b_base64(value.encode(), strict_mode=True).decode().partition(":")
        if kind.isalpha() and digits.isascii() and digits.isdecimal() and len(digits) < 19:
            return kind, int(digits)
    except (binascii.Error, UnicodeDecodeError):
        pass
    raise InvalidArgument(
        f"{field} {value[:80]!r} is not a global identifier; use one from an `id` field of this API", field=field
    )


def number_of(value: str, kind: str, field: str = "id") -> int:
    """Returns the service's id, at least 1, in an identifier of this type; raises `InvalidArgument` for any other."""
    given, number = split_global_id(value, field)
    if given != kind or number < 1:
        raise InvalidArgument(
            f"{field} {value[:80]!r} identifies {given}:{number}; an id of a {kind} is needed", field=field
        )
    return number
