"""A request as the resources see it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.types import Scope

from shop.errors import InvalidArgument
from shop.platform.http import strict_json
from shop.platform.http.body import limited_body
from shop.platform.rest.errors import InvalidRequest
from shop.platform.rest.problem_model import FieldError

_FIRST_VALUES = "shop.headers"


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Returns the headers of a request by their names in lower case; the first of a repeated header counts.

    Args:
        scope: The ASGI scope, which keeps them: every request is asked for several.
    """
    values: dict[bytes, bytes] | None = scope.get(_FIRST_VALUES)
    if values is None:
        values = scope[_FIRST_VALUES] = dict(reversed(scope["headers"]))
    return values


def header(scope: Scope, name: bytes) -> str | None:
    """Returns the value of a request's header; the first of a repeated header counts.

    Args:
        scope: The ASGI scope.
        name: The header in lower case.
    """
    value = headers_of(scope).get(name)
    return None if value is None else str(value, "latin-1")


class Call(Request):
    """A request whose headers are looked up in one step, and whose body is limited in size and time."""

    def header(self, name: bytes) -> str | None:
        """Returns a header's value, as `header` does."""
        return header(self.scope, name)

    def last_header(self, name: bytes) -> str | None:
        """Returns the value of a header; the last of a repeated header counts."""
        if name not in headers_of(self.scope):
            return None
        return str(dict(self.scope["headers"])[name], "latin-1")

    async def json(self) -> Any:
        """Returns the value of a JSON body.

        Raises:
            json.JSONDecodeError: It is not JSON.
            InvalidRequest: An object has a member twice.
        """
        try:
            return strict_json.loads(await self.body())
        except InvalidArgument as error:
            raise InvalidRequest([FieldError(error.field, error.message)]) from error

    async def stream(self) -> AsyncGenerator[bytes]:
        """Yields the body as it arrives.

        Raises:
            ResourceExhausted: It is too large.
            BodyTimeout: It did not arrive in time.
        """
        async for chunk in limited_body(super().stream(), self.header(b"content-length")):
            yield chunk
