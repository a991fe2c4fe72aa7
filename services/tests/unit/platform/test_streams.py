"""How fast streams may be opened, by one caller and by all callers of a process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing

import pytest

from shop.errors import DeadlineExceeded, TooManyRequests, Unavailable
from shop.platform.access import streams
from shop.platform.access.jwt import Principal
from shop.platform.access.rules import Caller
from shop.platform.access.streams import MAX_OPENING, MAX_PER_CUSTOMER, Streams


def customer(number: int) -> Caller:
    return Caller(Principal("customer", number))


async def numbers(opens: asyncio.Event | None = None) -> AsyncGenerator[int]:
    if opens is not None:
        await opens.wait()
    yield 1
    yield 2


async def open_and_close(held: Streams, caller: Caller) -> None:
    async with aclosing(held.hold(numbers(), caller)) as stream:
        await anext(stream)


async def test_a_caller_that_opens_many_streams_has_to_wait_and_others_do_not() -> None:
    held = Streams()
    for _ in range(streams.BURSTS * MAX_PER_CUSTOMER):
        await open_and_close(held, customer(1))
    with pytest.raises(TooManyRequests, match=r"users/1 opens streams too fast; try again in 1 s") as refused:
        await open_and_close(held, customer(1))
    assert refused.value.retry_after_s == 1
    await open_and_close(held, customer(2))


async def test_a_caller_may_open_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "REOPEN_S", 0.4)
    held = Streams()
    for _ in range(streams.BURSTS * MAX_PER_CUSTOMER):
        await open_and_close(held, customer(1))
    await asyncio.sleep(0.4)
    for _ in range(streams.BURSTS * MAX_PER_CUSTOMER):
        await open_and_close(held, customer(1))


async def test_many_concurrent_openings_all_succeed() -> None:
    """This happens when all customers reconnect after a restart."""
    held = Streams()
    async with AsyncExitStack() as opened:

        async def open_one(number: int) -> None:
            stream = await opened.enter_async_context(aclosing(held.hold(numbers(), customer(number))))
            assert await anext(stream) == 1

        await asyncio.gather(*(open_one(number) for number in range(1, 40 * MAX_OPENING)))


async def test_an_opening_that_would_wait_for_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_WAIT_S", 0.05)
    held, opens = Streams(), asyncio.Event()
    slow = [held.hold(numbers(opens), customer(number)) for number in range(1, MAX_OPENING + 1)]
    openings = [asyncio.ensure_future(anext(stream)) for stream in slow]
    await asyncio.sleep(0)  # they take their slots
    with pytest.raises(TooManyRequests, match="too many streams are being opened") as refused:
        await open_and_close(held, customer(99))
    assert refused.value.retry_after_s == 1
    opens.set()
    assert await asyncio.gather(*openings) == [1] * MAX_OPENING
    await open_and_close(held, customer(99))
    for stream in slow:
        await stream.aclose()


async def test_streams_that_do_not_begin_give_their_slots_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_START_S", 0.05)
    held, never = Streams(), asyncio.Event()
    for _ in range(2):
        silent = [held.hold(numbers(never), customer(number)) for number in range(1, MAX_OPENING + 1)]
        openings = await asyncio.gather(*(anext(stream) for stream in silent), return_exceptions=True)
        assert [type(opening) for opening in openings] == [DeadlineExceeded] * MAX_OPENING
    await open_and_close(held, customer(99))


async def test_a_process_stops_while_a_token_expires() -> None:
    held = Streams()
    expiring = Caller(Principal("customer", 1, time.time() + 0.4))
    opening = asyncio.ensure_future(anext(held.hold(numbers(asyncio.Event()), expiring)))
    asyncio.get_running_loop().call_later(0.1, time.sleep, 0.5)  # afterwards, both timers are due
    await asyncio.sleep(0.2)
    held.close()
    with pytest.raises(Unavailable, match="this process is stopping"):
        await opening
