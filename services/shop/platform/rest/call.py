"""One request as the resources see it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from starlette.requests import Request

from shop.platform.body import arriving


class Call(Request):
    """A request whose headers are looked up in one step, and whose body is limited in size and time."""

    def header(self, name: bytes) -> str | None:
        """Returns a header's value; the first of a repeated header counts.

        Args:
            name: The header in lower case.
        """
        for key, value in self.scope["headers"]:
            if key == name:
                found: bytes = value
                return found.decode("latin-1")
        return None

    async def stream(self) -> AsyncGenerator[bytes]:
        """Gives the body as it comes.

        Raises:
            ResourceExhausted: It is too large.
            BodyTimeout: It did not arrive in time.
        """
        async for chunk in arriving(super().stream(), self.header(b"content-length")):
            yield chunk
