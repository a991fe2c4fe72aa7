"""The body of every error (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from shop.errors import ErrorCode
from shop.fields import documented

EXAMPLE: dict[str, Any] = {
    "type": "https://hopwise.invalid/problems/not-found",
    "title": "Not found",
    "status": 404,
    "detail": "there is no order 4711",
    "instance": "/v1/orders/4711",
    "code": "NOT_FOUND",
    "field": "id",
}


class FieldError(msgspec.Struct, frozen=True):
    """One thing that is wrong with the request."""

    field: Annotated[
        str,
        documented("Field of the body (`lines[0].quantity`) or name of the parameter; empty for the whole."),
    ]
    message: Annotated[str, documented("What to change.")]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong and what to change."""

    type: Annotated[str, documented("Names the kind of problem; a stable URI, not a page.")]
    title: Annotated[str, documented("The kind of problem in words.")]
    status: Annotated[int, documented("The HTTP status.", minimum=400, maximum=599)]
    detail: Annotated[str, documented("What is wrong with this request and what to change.")]
    instance: Annotated[str, documented("The path that was asked for.")]
    code: Annotated[ErrorCode, documented("The same code that GraphQL and gRPC give.")]
    field: Annotated[str, documented("The argument that is at fault, if one is.")] = ""
    errors: Annotated[Sequence[FieldError], documented("All that is wrong with an invalid request.")] = ()
