"""Request parameters: checks which ones are accepted, and declares the parameters that several resources share."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl

import msgspec
from fastapi import Header, Path, Query
from pydantic import BeforeValidator

from shop.errors import InvalidArgument
from shop.fields import MAX_ID
from shop.platform.read_mask import Mask, parse_mask, paths_of
from shop.platform.rest.problems import FieldError, InvalidRequest
from shop.platform.validation import MAX_IDS

MAX_QUERY_PARAMETERS = 20
IDEMPOTENCY_KEY = "Idempotency-Key"
FIELDS = "fields"
VALUES_KEY = "x-values"
"""Key under which a parameter that is a list of words lists the valid words, for the OpenAPI document."""


def _digits(value: Any) -> Any:
    """Accepts only what JSON accepts as a whole number, so not "+5", " 5" or "1_0"."""
    if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdigit() and len(value) <= 20):
        raise ValueError("it should be an integer")
    return value


_Whole = BeforeValidator(_digits)

ProductId = Annotated[int, _Whole, Path(ge=1, le=MAX_ID, description="The product.", examples=[17])]
DocumentId = Annotated[int, _Whole, Path(ge=1, le=MAX_ID, description="The document.", examples=[17])]
UserId = Annotated[int, _Whole, Path(ge=1, le=MAX_ID, description="The user.", examples=[17])]
OrderId = Annotated[int, _Whole, Path(ge=1, le=MAX_ID, description="The order.", examples=[4711])]
PaymentId = Annotated[int, _Whole, Path(ge=1, le=MAX_ID, description="The payment.", examples=[4711])]
AfterLineId = Annotated[
    int, _Whole, Query(ge=0, le=MAX_ID, description="Only lines with a greater id.", examples=[14000])
]

AfterProductId = Annotated[
    int, _Whole, Query(ge=0, le=MAX_ID, description="Only products with a greater id.", examples=[17])
]
ReservationId = Annotated[str, Path(description="UUID that the caller chose for the checkout.")]
CheckoutId = Annotated[str, Path(description="UUID of the checkout.")]
ProductIds = Annotated[str, Query(description="The products, 1 to 1,000 ids with commas between them.")]
OrderIdsOfPayments = Annotated[
    str, Query(description="The orders, 1 to 1,000 ids with commas between them.", examples=["4711,4712"])
]
Limit20 = Annotated[int, _Whole, Query(ge=1, le=20, description="Reviews of each product.")]

PageSize1000 = Annotated[int, _Whole, Query(ge=1, le=1000, description="Entries a page.")]
PageSize100 = Annotated[int, _Whole, Query(ge=1, le=100, description="Entries a page.")]
PageSize10000 = Annotated[int, _Whole, Query(ge=1, le=10_000, description="Entries a page.")]
PageToken = Annotated[
    str,
    Query(max_length=200, description="`next_page_token` of the page before, with the same filter; empty at first."),
]
Ids = Annotated[
    str | None,
    Query(
        description=f"Only these, 1 to {MAX_IDS:,} ids with commas between them, in this order; unknown ones are left "
        "out, repeated ones count once. Not together with another filter or paging."
    ),
]
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="Entity tag of a GET without `include` and `fields`: the change is made only if nothing has "
        "changed since. A change of `stock` needs it, since customers change the stock, too.",
    ),
]

IdempotencyKey = Annotated[
    str,
    Header(
        alias=IDEMPOTENCY_KEY,
        min_length=1,
        max_length=64,
        pattern="^[ -~]+$",
        description="Chosen by the client for this purchase, 1 to 64 printable ASCII characters. The same key with "
        "the same body gives the first call's order and buys nothing; with another body it is refused.",
        examples=["8f14e45f-ceea-467f-a8f3-6b0e3b1c1d1e"],
    ),
]
OrderIds = Annotated[str, Query(description="The orders, 1 to 1,000 ids with commas between them.")]


def check_query(query: bytes, known: list[str]) -> None:
    """Raises `InvalidRequest` if a parameter of a query string is unknown or given twice, or there are too many."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError:
        message = f"the query has too many parameters; at most {MAX_QUERY_PARAMETERS} are valid"
        raise InvalidRequest([FieldError("", message)]) from None
    errors = []
    seen: set[str] = set()
    for name, _ in pairs:
        if name not in known:
            valid = f"valid ones are {', '.join(known)}" if known else "there are none here"
            errors.append(FieldError(name[:40], f"this query parameter is unknown; {valid}"))
        elif name in seen:
            errors.append(FieldError(name, "this query parameter is given twice; give it once"))
        seen.add(name)
    if errors:
        raise InvalidRequest(errors)


def parse_ids(text: str, name: str) -> list[int]:
    """Returns the ids of a filter, each once. Raises `InvalidRequest` for no ids, too many, or an invalid one."""
    parts = text.split(",") if text else []
    if not 1 <= len(parts) <= MAX_IDS:
        raise InvalidRequest([FieldError(name, f"it has {len(parts)} ids; 1 to {MAX_IDS} are valid")])
    ids = [int(part) if part.isascii() and part.isdigit() and len(part) < 20 else 0 for part in parts]
    for position, id_ in enumerate(ids):
        if not 1 <= id_ <= MAX_ID:
            message = (
                f"it is {parts[position][:40]!r}; ids from 1 to {MAX_ID} with commas between them are valid, "
                f"as in {name}=1,2,3"
            )
            raise InvalidRequest([FieldError(f"{name}[{position}]", message)], field=name)
    return list(dict.fromkeys(ids))


def parse_include(text: str, valid: frozenset[str]) -> frozenset[str]:
    """Returns the names in `include`. Raises `InvalidArgument` for an unknown name."""
    if not text:
        return frozenset()
    asked = frozenset(text.split(","))
    if unknown := sorted(asked - valid):
        raise InvalidArgument(
            f"include={unknown[0][:40]!r} is not valid; valid: {', '.join(sorted(valid))}", field="include"
        )
    return asked


def selecting(resource: type[msgspec.Struct]) -> Any:
    """Returns the declaration of the parameter `fields` for a resource."""
    return Query(
        description="The only fields to return, with commas between; dots lead into nested fields, and `*` stands for "
        "each entry of a list. Empty for all fields.",
        json_schema_extra={VALUES_KEY: [*paths_of(resource)]},
    )


def parse_fields(text: str, resource: type[msgspec.Struct]) -> Mask | None:
    """Returns the mask of the fields to return; None for all fields. Raises `InvalidArgument` for an unknown field."""
    return parse_mask(text.split(","), resource, FIELDS) if text else None


def check_alone(name: str, others: dict[str, object]) -> None:
    """Raises `InvalidRequest` if a filter by ids comes with another value, which is not false."""
    if given := [other for other, value in others.items() if value]:
        raise InvalidRequest([FieldError(other, f"leave it out together with {name}") for other in given])
