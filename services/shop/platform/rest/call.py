"""A request as the resources see it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.types import Scope

from shop.platform.body import limited_body


def header(scope: Scope, name: bytes) -> str | None:
    """Returns the value of a request's header; the first of a repeated header counts.

    Args:
        scope: The ASGI scope.
        name: The header in lower case.
    """
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


class Call(Request):
    """A request whose headers are looked up in one step, and whose body is limited in size and time."""

    def header(self, name: bytes) -> str | None:
        """Returns a header's value, as `header` does."""
        return header(self.scope, name)

    def last_header(self, name: bytes) -> str | None:
        """Returns the value of a header; the last of a repeated header counts."""
        for key, value in reversed(self.scope["headers"]):
            if key == name:
                return str(value, "latin-1")
        return None

    async def stream(self) -> AsyncGenerator[bytes]:
        """Yields the body as it arrives.

        Raises:
            ResourceExhausted: It is too large.
            BodyTimeout: It did not arrive in time.
        """
        async for chunk in limited_body(super().stream(), self.header(b"content-length")):
            yield chunk
