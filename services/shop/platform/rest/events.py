"""Long-lived answers: server-sent events (HTML Living Standard, 9.2)."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Generic, TypeAlias, TypeVar

from fastapi import Header
from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse

from shop.errors import ShopError
from shop.platform.deadline import lift
from shop.platform.rest.answers import encode

T = TypeVar("T")

MEDIA_TYPE = "text/event-stream"
RETRY_MS = 1_000
"""How long a client should wait before it asks again after its stream has ended, in milliseconds."""

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        pattern=r"^[0-9]{1,19}$",
        description="`id` of the client's last event, after which the stream begins; without it, the stream "
        "begins with new events.",
        examples=["17"],
    ),
]


StreamEvent: TypeAlias = tuple[int, T | None]
"""An event's `Last-Event-ID`, with which a client continues, and its content; None says that the stream is open."""


class EventStream(StreamingResponse, Generic[T]):
    """A response of events that carry a `T` as JSON."""

    media_type = MEDIA_TYPE


async def event_stream(name: str, events: AsyncGenerator[StreamEvent[T]]) -> EventStream[T]:
    """Returns the answer once the stream is open; a `ShopError` until then becomes a problem with a status."""
    lift()
    position, _ = await anext(events)
    return EventStream(
        _write_events(name, position, events), headers={"cache-control": "no-store", "x-accel-buffering": "no"}
    )


async def _write_events(name: str, position: int, events: AsyncGenerator[StreamEvent[T]]) -> AsyncGenerator[bytes]:
    async with aclosing(events):
        yield format_sse_event(comment="open", id=str(position), retry=RETRY_MS)
        try:
            async for position, data in events:
                if data is None:
                    yield format_sse_event(comment="still open", id=str(position))
                else:
                    yield format_sse_event(event=name, data_str=encode(data).decode(), id=str(position))
        except ShopError as error:
            # The status has already been sent: the client will ask again, and then get the reason.
            logging.getLogger(__name__).info("a stream of events ends: %s", error.message)
