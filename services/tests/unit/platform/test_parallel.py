"""Calls in parallel."""

from __future__ import annotations

import asyncio

import pytest

from shop.errors import NotFound, Unavailable
from shop.platform.parallel import both


async def after(event: asyncio.Event, value: str) -> str:
    await event.wait()
    return value


async def set_and_give(event: asyncio.Event, value: str) -> str:
    event.set()
    return value


async def failing(error: Exception) -> str:
    raise error


async def test_each_can_wait_for_the_other() -> None:
    event = asyncio.Event()
    assert await both(after(event, "left"), set_and_give(event, "right")) == ("left", "right")
    event.clear()
    assert await both(set_and_give(event, "left"), after(event, "right")) == ("left", "right")


@pytest.mark.filterwarnings("error")
async def test_the_first_failure_cancels_the_other_and_is_raised_as_it_was() -> None:
    never = asyncio.Event()
    with pytest.raises(NotFound):
        await both(failing(NotFound("gone")), after(never, "right"))


async def test_the_second_failure_is_raised_as_it_was() -> None:
    with pytest.raises(Unavailable):
        await both(asyncio.sleep(0, "left"), failing(Unavailable("down")))


async def test_two_failures_are_one() -> None:
    async def late() -> str:
        await asyncio.sleep(0)
        raise NotFound("first")

    with pytest.raises(NotFound):
        await both(late(), failing(Unavailable("second")))


async def test_a_cancelled_caller_cancels_both() -> None:
    never = asyncio.Event()
    cancelled: list[str] = []

    async def waits(name: str) -> None:
        try:
            await never.wait()
        except asyncio.CancelledError:
            cancelled.append(name)
            raise

    task = asyncio.create_task(both(waits("left"), waits("right")))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(cancelled) == ["left", "right"]
