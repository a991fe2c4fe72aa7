"""Converts the shared messages of the contract to value types and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from shop.errors import InvalidArgument
from shop.money import Money
from shop.stubs import money_pb2

M = TypeVar("M", bound=Message)


def build(kind: type[M], at: str = "", /, **fields: object) -> M:
    """Builds a message from values of a caller, which may not fit it.

    Args:
        kind: The message's type.
        at: Prefix of its fields in the request: "product.", "lines[2].".
        fields: Values of its fields.

    Raises:
        InvalidArgument: A number has more bits than its field, or a text has a lone surrogate.
    """
    try:
        return kind(**fields)
    except ValueError:
        for name, value in fields.items():
            try:
                kind(**{name: value})
            except ValueError as error:
                raise InvalidArgument(f"{at}{name} is out of range", field=f"{at}{name}") from error
        raise


def money_message(money: Money) -> money_pb2.Money:
    """Returns the message of an amount that comes from the database."""
    return money_pb2.Money(amount_minor=money.amount_minor, currency=money.currency)


def money_argument(money: Money, at: str) -> money_pb2.Money:
    """Returns the message of an amount that a caller sent; `at` is its field's name.

    Raises:
        InvalidArgument: The amount has more than 64 bits, or the currency cannot be sent.
    """
    return build(money_pb2.Money, f"{at}.", amount_minor=money.amount_minor, currency=money.currency)


def money_from(message: money_pb2.Money) -> Money:
    """Returns the amount of a message."""
    return Money(message.amount_minor, message.currency)


def masked(mask: Iterable[str], valid: Sequence[str]) -> frozenset[str]:
    """Returns the fields that an update changes; `mask` names them.

    Raises:
        InvalidArgument: The mask is empty or names another field.
    """
    paths = frozenset(mask)
    if not paths or not paths <= frozenset(valid):
        raise InvalidArgument(f"update_mask must name at least one of: {', '.join(valid)}", field="update_mask")
    return paths
