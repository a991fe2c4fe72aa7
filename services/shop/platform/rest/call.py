"""One request as the resources see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from starlette.requests import Request

from shop.errors import DeadlineExceeded, ResourceExhausted
from shop.platform.deadline import remaining

MAX_BYTES = 64 * 1024


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
            ResourceExhausted: It is larger than 64 KiB.
            DeadlineExceeded: It did not arrive in time.
        """
        declared = self.header(b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > MAX_BYTES:
            raise _too_large()
        size = 0
        try:
            async with asyncio.timeout(remaining()):
                async for chunk in super().stream():
                    size += len(chunk)
                    if size > MAX_BYTES:
                        raise _too_large()
                    yield chunk
        except TimeoutError as error:
            raise DeadlineExceeded("the body did not arrive in time; send it faster or allow more time") from error


def _too_large() -> ResourceExhausted:
    return ResourceExhausted(f"the body is too large; at most {MAX_BYTES} bytes are valid")
