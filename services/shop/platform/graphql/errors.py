"""Why a GraphQL request is not executed.

Exception
├── Refused                  it is no GraphQL request: the HTTP status says so
├── RequestError             its document is malformed, or not valid for the schema
└── PersistedQueryNotFound   its document is not known by this hash
"""

from __future__ import annotations

from graphql import GraphQLError

from shop.errors import ShopError


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
    """No document is known by this hash; the client sends it once more, with its text."""
