"""Money."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from shop.fields import describe

AmountMinor = Annotated[int, describe("Amount in the currency's minor unit: 1999 is 19.99 EUR.")]
_CODES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY",
    "COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR",
    "ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK",
    "MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF",
    "SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU",
    "UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG",
)
CURRENCIES = frozenset(" ".join(_CODES).split())
"""The ISO 4217 codes of currencies that people pay with: without funds, metals, bond units and test codes."""
Currency = Annotated[str, describe("ISO 4217 code.", pattern=r"^[A-Z]{3}$")]


class Money(Struct, frozen=True, gc=False):
    """An amount of money, exact by construction."""

    amount_minor: AmountMinor
    currency: Currency

    def __add__(self, other: Money) -> Money:
        if self.currency != other.currency:
            raise ValueError(f"cannot add {other.currency} to {self.currency}")
        return Money(self.amount_minor + other.amount_minor, self.currency)

    def __mul__(self, pieces: int) -> Money:
        return Money(self.amount_minor * pieces, self.currency)
