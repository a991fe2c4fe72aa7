"""The event loop's own account of when it was busy, on the services' event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
import uvloop
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from recording import lean
from recording.loop import BUSY, LoopAccount, LoopNotes
from shop.platform.telemetry.tracing import Spans

HELD_S = 0.02


def on_a_loop(work: Callable[[LoopAccount], Awaitable[None]]) -> Callable[[], None]:
    """Makes a test that runs on the services' event loop, after a rest."""

    async def main() -> None:
        account = LoopAccount()
        account.busy()
        await asyncio.sleep(0.02)
        await work(account)

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main())

    return run


def hold(held_s: float = HELD_S) -> None:
    until = time.thread_time() + held_s  # at least as long by the wall clock
    while time.thread_time() < until:
        pass


@on_a_loop
async def test_a_request_that_waited_for_the_loop_records_how_long(account: LoopAccount) -> None:
    assert account.busy() is None, "the loop was at rest"
    seen: list[tuple[int, int] | None] = []
    asyncio.get_running_loop().call_soon(lambda: seen.append(account.busy()))
    hold()
    await asyncio.sleep(0)
    [(busy_ns, rested_ns)] = seen
    assert busy_ns >= HELD_S * 1e9
    assert rested_ns == 0


@on_a_loop
async def test_a_request_seen_a_pause_later_records_the_longest_stretch(account: LoopAccount) -> None:
    for waits_too in (False, True):
        for _ in range(20):
            account.busy()
            began_s = time.monotonic()
            hold()
            account.busy()
            if waits_too:
                await asyncio.sleep(0.001)
                account.busy()
                hold(0.0015)
                account.busy()
            await asyncio.sleep(0.001)
            waited = account.busy()
            if time.monotonic() - began_s < HELD_S + 0.005:
                break  # otherwise other programs took the core: the loop seems to pause, or wakes up too late
            await asyncio.sleep(0.02)
        else:
            pytest.skip("others had the core in each of 20 rounds")
        busy_ns, rested_ns = waited
        assert busy_ns >= HELD_S * 1e9
        # On a busy machine, the loop may not have paused yet.
        assert 0 <= rested_ns < HELD_S * 1e9


@on_a_loop
async def test_many_short_pieces_without_a_rest_are_one_long_one(account: LoopAccount) -> None:
    for _ in range(500):  # on a busy machine, other programs interrupt the loop repeatedly
        account.busy()
        hold(0.0005)
        await asyncio.sleep(0)
        waited = account.busy()
        if waited is not None and waited[0] >= 2e6:
            return
    pytest.fail("four pieces of work in a row were never one")


@on_a_loop
async def test_short_work_with_pauses_keeps_no_request_waiting(account: LoopAccount) -> None:
    waits = []
    for _ in range(20):
        waits.append(account.busy())
        hold(0.0005)
        account.busy()
        await asyncio.sleep(0.003)
    assert waits.count(None) >= 15  # a busy machine may lengthen some pieces of work


@on_a_loop
async def test_unannounced_work_counts_by_its_cpu_time(account: LoopAccount) -> None:
    hold()
    assert account.busy()[0] >= HELD_S * 1e9


@on_a_loop
async def test_after_a_pause_no_request_has_waited(account: LoopAccount) -> None:
    account.busy()
    hold()
    account.busy()
    await asyncio.sleep(0.1)
    assert account.busy() is None


def test_no_account_is_kept_before_a_request_is_traced() -> None:
    parent = SpanContext(1, 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))

    async def is_recorded() -> bool:
        span = tracing.start("GET", SpanKind.SERVER.value, parent, None, ())
        spans.note_moment(None)
        hold()
        spans.note_moment(span)
        return BUSY in (span.attributes or {})

    with lean.discarding() as tracing, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        spans = Spans(tracing, LoopNotes().note_moment)
        assert not runner.run(is_recorded())
        spans.start("GET", SpanKind.SERVER.value, parent)
        assert runner.run(is_recorded())
