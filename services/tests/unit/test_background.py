"""Work that continues after its caller has gone."""

from __future__ import annotations

import asyncio
import time

import pytest

from shop.errors import DeadlineExceeded, Unavailable
from shop.order.background import Background
from shop.platform.deadline import deadline, own_deadline, remaining


async def test_work_continues_when_its_caller_is_cancelled() -> None:
    background, done = Background(), asyncio.Event()

    async def work() -> str:
        await asyncio.sleep(0.02)
        done.set()
        return "done"

    caller = asyncio.create_task(background.shield(work()))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not done.is_set()
    await background.drain(1.0)
    assert done.is_set()
    assert await background.shield(work()) == "done"


async def test_an_error_reaches_the_caller_who_is_still_there_and_nobody_else() -> None:
    background = Background()

    async def fail() -> None:
        await asyncio.sleep(0.01)
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        await background.shield(fail())
    caller = asyncio.create_task(background.shield(fail()))
    await asyncio.sleep(0)
    caller.cancel()
    # Warnings count as errors here, so a lost exception would fail this test.
    await background.drain(1.0)


async def test_draining_has_a_limit() -> None:
    background = Background()
    caller = asyncio.create_task(background.shield(asyncio.sleep(60)))
    await asyncio.sleep(0)
    began = time.monotonic()
    await background.drain(0.05)
    assert time.monotonic() - began < 30
    with pytest.raises(asyncio.CancelledError):
        await caller
    await background.drain(0.05)


def test_own_time_replaces_a_deadline_that_has_passed() -> None:
    with deadline(0.0):
        with own_deadline(5.0):
            assert 4.0 < (remaining() or 0) <= 5.0
        with pytest.raises(DeadlineExceeded):
            remaining()
