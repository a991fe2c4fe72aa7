"""A request's body as it arrives, limited in size and time, for both REST and GraphQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable

from starlette.requests import ClientDisconnect

from shop.errors import DeadlineExceeded, InvalidArgument, ResourceExhausted
from shop.platform.deadline import remaining

MAX_BYTES = 64 * 1024
MAX_S = 5.0

_MAX_DIGITS = 18


class BodyTimeout(DeadlineExceeded):
    """The body did not arrive in time; HTTP has a separate status for this: 408."""


async def limited_body(chunks: AsyncIterable[bytes], content_length: str | None) -> AsyncGenerator[bytes]:
    """Yields a body as it arrives.

    Raises `ResourceExhausted` above 64 KiB, `BodyTimeout` if it takes too long, or `InvalidArgument` if it breaks off.
    """
    if (
        content_length is not None
        and content_length.isdigit()
        and (len(content_length) > _MAX_DIGITS or int(content_length) > MAX_BYTES)
    ):
        raise _too_large()
    left = remaining()
    limit = asyncio.timeout(MAX_S if left is None else min(left, MAX_S))
    size = 0
    try:
        async with limit:
            async for chunk in chunks:
                size += len(chunk)
                if size > MAX_BYTES:
                    raise _too_large()
                yield chunk
    except ClientDisconnect as error:
        raise InvalidArgument("the request ended before its body did") from error
    except (TimeoutError, asyncio.CancelledError) as error:
        if not limit.expired():
            raise
        # This is also reached if, on a busy loop, this limit and the limit of the whole request expire at once.
        raise BodyTimeout("the body did not arrive in time; send it faster or allow more time") from error


def _too_large() -> ResourceExhausted:
    return ResourceExhausted(f"the body is too large; at most {MAX_BYTES} bytes are valid")
