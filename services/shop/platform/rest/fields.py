"""The fields that several bodies share, with their limits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_ID = 2**63 - 1
MAX_AMOUNT_MINOR = 10**12

Id = Annotated[int, Field(ge=1, le=MAX_ID)]
NO_NUL = r"^[^\x00]*$"
"""PostgreSQL cannot store the character U+0000 in text."""

INSTANT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"
Instant = Annotated[str, Field(pattern=INSTANT, description="RFC 3339, whole seconds, UTC.")]
NextPageToken = Annotated[
    str, Field(description="Give it as `page_token` to read the next page; empty after the last page.")
]


class Received(BaseModel):
    """A body that comes in: nothing is converted, and no unknown field is accepted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Sent(BaseModel):
    """A body that goes out; every field is documented, so that a stricter client breaks on nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def absent() -> Any:
    """Returns the value of a field that a change does not name; `model_fields_set` tells it from a given one."""
    return None


class Change(Received):
    """A body that changes the fields it names: at least one, and none to null."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    @model_validator(mode="after")
    def _names_a_field(self) -> Change:
        if not self.model_fields_set:
            raise ValueError(f"nothing to change; give at least one of {', '.join(type(self).model_fields)}")
        return self


class Money(Sent):
    """An amount of money, exact by construction."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"amount_minor": 1999, "currency": "EUR"}]})

    amount_minor: Annotated[int, Field(description="Amount in the currency's minor unit: 1999 is 19.99 EUR.")]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code.")]


class Price(Received):
    """What one piece costs."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"amount_minor": 1999, "currency": "EUR"}]})

    amount_minor: Annotated[
        int,
        Field(ge=1, le=MAX_AMOUNT_MINOR, description="Amount in the currency's minor unit: 1999 is 19.99 EUR."),
    ]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code.")]


class Address(Received):
    """A postal address."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "recipient": "Ada Example",
                    "street": "Example Street 17",
                    "city": "Springfield",
                    "postal_code": "10017",
                    "country_code": "DE",
                }
            ]
        }
    )

    recipient: Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, description="Who receives parcels.")]
    street: Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL, description="Street and number.")]
    city: Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, description="City or town.")]
    postal_code: Annotated[
        str, Field(min_length=1, max_length=20, pattern=NO_NUL, description="As written in its country.")
    ]
    country_code: Annotated[str, Field(pattern=r"^[A-Z]{2}$", description="ISO 3166-1 alpha-2 code.")]
