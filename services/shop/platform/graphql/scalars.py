"""Scalars that GraphQL lacks: 64-bit integers, moments in time, and money."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NewType

import strawberry
from graphql import GraphQLError
from strawberry.types.scalar import ScalarDefinition

from shop.money import Money as ShopMoney

Long = NewType("Long", int)
Moment = NewType("Moment", datetime)
Instant = NewType("Instant", datetime)

_MAX = 2**63 - 1


def parse_long(value: object) -> Long:
    """Returns a whole number of 64 bits. Raises `GraphQLError` if the value is anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not -_MAX - 1 <= value <= _MAX:
        raise GraphQLError(f"{value!r} is not a Long; whole numbers from -2^63 to 2^63 - 1 are valid")
    return Long(value)


def serialize_moment(value: datetime) -> str:
    """Returns a moment in RFC 3339 form, in UTC with whole seconds: "2025-03-04T05:06:07Z"."""
    moment = value if value.tzinfo is UTC else value.astimezone(UTC)
    return moment.isoformat(timespec="seconds")[:19] + "Z"


def serialize_instant(value: datetime) -> str:
    """Returns a moment in RFC 3339 form, in UTC with microseconds: "2025-03-04T05:06:07.000008Z"."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def parse_moment(value: object) -> Moment:
    """Returns the moment that an RFC 3339 text names; raises `GraphQLError` without a time zone or for other values."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise GraphQLError(f'{value!r} is not a DateTime; RFC 3339 is valid, as in "2025-03-04T05:06:07Z"')
    return Moment(moment.astimezone(UTC))


SCALARS: dict[object, ScalarDefinition] = {
    Long: strawberry.scalar(
        name="Long",
        description="A whole number of 64 bits, as a JSON number.",
        parse_value=parse_long,
    ),
    Moment: strawberry.scalar(
        name="DateTime",
        description='A moment in UTC with whole seconds, RFC 3339: "2025-03-04T05:06:07Z".',
        serialize=serialize_moment,
        parse_value=parse_moment,
    ),
    Instant: strawberry.scalar(
        name="Instant",
        description='A moment in UTC with microseconds, RFC 3339: "2025-03-04T05:06:07.000008Z".',
        serialize=serialize_instant,
        parse_value=parse_moment,
    ),
}


@strawberry.type(description="An amount of money, exact: whole minor units and a currency.")
class Money:
    """Has the attributes of `shop.money.Money`, so that resolvers return the services' values as they are."""

    amount_minor: Long = strawberry.field(description="In the currency's minor unit: 1999 is 19.99 EUR.")
    currency: str = strawberry.field(description='ISO 4217 code, "EUR".')


@strawberry.input(description="An amount of money.")
class MoneyInput:
    """Money as a client sends it."""

    amount_minor: Long
    currency: str

    def to_shop(self) -> ShopMoney:
        return ShopMoney(self.amount_minor, self.currency)
