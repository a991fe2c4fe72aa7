"""The body of every error (RFC 9457)."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from shop.errors import ErrorCode
from shop.platform.rest.fields import Sent


class FieldError(Sent):
    """One thing that is wrong with the request."""

    field: Annotated[
        str,
        Field(description="Field of the body (`lines[0].quantity`) or name of the parameter; empty for the whole."),
    ]
    message: Annotated[str, Field(description="What to change.")]


class Problem(Sent):
    """What went wrong and what to change."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "https://hopwise.invalid/problems/not-found",
                    "title": "Not found",
                    "status": 404,
                    "detail": "there is no order 4711",
                    "instance": "/v1/orders/4711",
                    "code": "NOT_FOUND",
                    "field": "id",
                }
            ]
        }
    )

    type: Annotated[str, Field(description="Names the kind of problem; a stable URI, not a page.")]
    title: Annotated[str, Field(description="The kind of problem in words.")]
    status: Annotated[int, Field(ge=400, le=599, description="The HTTP status.")]
    detail: Annotated[str, Field(description="What is wrong with this request and what to change.")]
    instance: Annotated[str, Field(description="The path that was asked for.")]
    code: Annotated[ErrorCode, Field(description="The same code that GraphQL and gRPC give.")]
    field: Annotated[str, Field(default="", description="The argument that is at fault, if one is.")]
    errors: Annotated[
        list[FieldError], Field(default_factory=list, description="All that is wrong with an invalid request.")
    ]
