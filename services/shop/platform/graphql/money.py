"""Money in every schema of the shop."""

from __future__ import annotations

import strawberry

from shop.money import Money as ShopMoney
from shop.platform.graphql.scalars import Long


@strawberry.type(description="An amount of money, exact: whole minor units and a currency.")
class Money:
    """Has the attributes of `shop.money.Money`, so that the services' own values are returned as they are."""

    amount_minor: Long = strawberry.field(description="In the currency's minor unit: 1999 is 19.99 EUR.")
    currency: str = strawberry.field(description='ISO 4217 code, "EUR".')


@strawberry.input(description="An amount of money.")
class MoneyInput:
    """Money as a client sends it."""

    amount_minor: Long
    currency: str = "EUR"

    def to_shop(self) -> ShopMoney:
        """Returns it as the services know it."""
        return ShopMoney(self.amount_minor, self.currency)
