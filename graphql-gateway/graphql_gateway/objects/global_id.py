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
    """Returns the type's name and the service's id in a global identifier.

    Raises:
        InvalidArgument: The text does not come from this gateway.
    """
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
    """Returns the service's id in a global identifier of one type, at least 1.

    Raises:
        InvalidArgument: The identifier does not come from this gateway, or is of another type.
    """
    given, number = split_global_id(value, field)
    if given != kind or number < 1:
        raise InvalidArgument(
            f"{field} {value[:80]!r} identifies {given}:{number}; an id of a {kind} is needed", field=field
        )
    return number
