"""Postal addresses."""

from __future__ import annotations

import strawberry

from shop.values.user import Address as ShopAddress


@strawberry.type(description="A postal address.")
class Address:
    """Has the attributes of `shop.values.user.Address`, so resolvers return the services' values unchanged."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str = strawberry.field(description='ISO 3166-1 alpha-2 code, "DE".')


@strawberry.input(description="A whole postal address; it replaces the one before.")
class AddressInput:
    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str

    def to_shop(self) -> ShopAddress:
        return ShopAddress(self.recipient, self.street, self.city, self.postal_code, self.country_code)
