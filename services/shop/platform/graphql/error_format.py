"""Errors of GraphQL requests, and their form for clients: `message`, `path`, and `extensions` with a code.

Exception
├── Refused                  not a GraphQL request; the HTTP status says so
├── RequestError             a document that is malformed, or not valid for the schema
└── PersistedQueryNotFound   no document has this hash
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from graphql import GraphQLError

from shop.errors import DeadlineExceeded, ErrorCode, ShopError

NOT_FOUND_BY_HASH = {"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}
"""Requests the text of a persisted query: a step of the convention for them, and not an error of the shop."""

MAX_MESSAGE = 1000
"""Maximum length of graphql-core's messages that we pass on, in characters; they repeat the client's text."""

_LOG = logging.getLogger(__name__)
_SNAKE = re.compile(r"_([a-z])")


class Refused(Exception):  # noqa: N818 - not an error of this program
    """The request is not a GraphQL request."""

    def __init__(self, status: int, error: ShopError, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.headers = headers


class RequestError(Exception):
    """The document cannot be executed: it is malformed, or not valid for the schema."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


class PersistedQueryNotFound(Exception):  # noqa: N818 - named as the convention names it
    """No document has this hash; the client repeats the request with the text."""


def shop_error(error: ShopError) -> dict[str, Any]:
    """Returns an error of the shop as clients see it."""
    extensions: dict[str, Any] = {"code": error.code.value}
    if error.field:
        extensions["field"] = _SNAKE.sub(lambda match: match[1].upper(), error.field)
    if error.retry_after_s:
        extensions["retryAfter"] = error.retry_after_s
    return {"message": error.message, "extensions": extensions}


def graphql_errors(errors: Sequence[GraphQLError]) -> list[dict[str, Any]]:
    """Returns a request's errors as clients see them. Unexpected errors are logged, and clients see INTERNAL."""
    logged: set[int] = set()
    return [_format(error, logged) for error in errors]


def shown_errors(errors: Sequence[GraphQLError]) -> list[GraphQLError]:
    """Returns errors in the form that Strawberry sends to clients."""
    return [
        GraphQLError(shown["message"], error.nodes, path=error.path, extensions=shown["extensions"])
        for error, shown in zip(errors, graphql_errors(errors), strict=True)
    ]


def _format(error: GraphQLError, logged: set[int]) -> dict[str, Any]:
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        # Scalars raise GraphQLError themselves, and graphql-core wraps it.
        cause = cause.original_error
    if cause is None:
        message = error.message if len(error.message) <= MAX_MESSAGE else error.message[:MAX_MESSAGE] + "..."
        body: dict[str, Any] = {"message": message, "extensions": {"code": ErrorCode.INVALID_ARGUMENT.value}}
    elif isinstance(cause, ShopError):
        if cause.code is ErrorCode.INTERNAL:
            _log(cause, logged)
        body = shop_error(cause)
    elif isinstance(cause, TimeoutError):
        body = shop_error(DeadlineExceeded("the time that the caller allowed is over"))
    else:
        _log(cause, logged)
        body = {"message": "internal error", "extensions": {"code": ErrorCode.INTERNAL.value}}
    if error.locations:
        body["locations"] = [location.formatted for location in error.locations]
    if error.path is not None:
        body["path"] = error.path
    return body


def _log(cause: BaseException, logged: set[int]) -> None:
    # A loader raises the same error in every resolver that awaits it.
    if id(cause) not in logged:
        logged.add(id(cause))
        _LOG.error("a resolver failed", exc_info=cause)
