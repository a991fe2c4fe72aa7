"""Value types that several entities share."""

from __future__ import annotations

import strawberry

from graphql_gateway.scalars import Long
from shop.clients import Address as ShopAddress
from shop.money import Money as ShopMoney


@strawberry.type(description="An amount of money, exact: whole minor units and a currency.")
class Money:
    """Has the attributes of `shop.money.Money`, so that the services' own values are returned as they are."""

    amount_minor: Long = strawberry.field(description="In the currency's minor unit: 1999 is 19.99 EUR.")
    currency: str = strawberry.field(description='ISO 4217 code, "EUR".')


@strawberry.type(description="A postal address.")
class Address:
    """Has the attributes of `shop.clients.Address`, so that the services' own values are returned as they are."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str = strawberry.field(description='ISO 3166-1 alpha-2 code, "DE".')


@strawberry.input(description="An amount of money.")
class MoneyInput:
    """Money as a client sends it."""

    amount_minor: Long
    currency: str = "EUR"

    def to_shop(self) -> ShopMoney:
        """Returns it as the services know it."""
        return ShopMoney(self.amount_minor, self.currency)


@strawberry.input(description="A whole postal address; it replaces the one before.")
class AddressInput:
    """An address as a client sends it."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str

    def to_shop(self) -> ShopAddress:
        """Returns it as the services know it."""
        return ShopAddress(self.recipient, self.street, self.city, self.postal_code, self.country_code)
