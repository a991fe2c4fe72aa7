"""Money, exact by construction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in the currency's minor unit: `Money(1999, "EUR")` is 19.99 EUR."""

    amount_minor: int
    currency: str

    def __add__(self, other: Money) -> Money:
        if self.currency != other.currency:
            raise ValueError(f"cannot add {other.currency} to {self.currency}")
        return Money(self.amount_minor + other.amount_minor, self.currency)

    def __mul__(self, pieces: int) -> Money:
        return Money(self.amount_minor * pieces, self.currency)
