"""How the share of admitted requests follows the delay of a process's event loop."""

from __future__ import annotations

import asyncio
import time

import pytest

from shop.errors import Unavailable
from shop.platform.admission import CHECKOUT, DELAY_S, MIN_SHARE, UNDER_WAY, Admission, Share, admission
from shop.platform.config import ServiceConfig


def let_in(share: Share, requests: int) -> int:
    return sum(share.take() for _ in range(requests))


def test_without_delay_everything_is_admitted() -> None:
    share = Share(DELAY_S)
    for _ in range(100):
        share.follow(DELAY_S)
    assert let_in(share, 1_000) == 1_000


@pytest.mark.parametrize("value", [0.5, 0.3, 0.02])
def test_a_share_is_admitted_at_even_distances(value: float) -> None:
    share = Share(DELAY_S)
    share.value = value
    assert abs(let_in(share, 1_000) - 1_000 * value) <= 1


def test_a_loop_that_is_late_all_the_time_sheds_down_to_a_rest() -> None:
    share = Share(DELAY_S)
    share.follow(2 * DELAY_S)
    assert share.value == 0.5
    for _ in range(100):
        share.follow(2 * DELAY_S)
    assert share.value == MIN_SHARE


def test_an_overload_is_shed_and_everything_is_admitted_afterwards() -> None:
    """The delay is the load's excess over the capacity of the process, in intervals that end with a queue."""
    share = Share(DELAY_S)
    for _ in range(100):
        share.follow(DELAY_S * 5 * share.value)
    assert 0.7 / 5 <= share.value <= 1.3 / 5
    for _ in range(50):
        share.follow(0.0)
    assert share.value == 1.0


def test_checkouts_are_admitted_longer_and_calls_under_way_longest() -> None:
    limit = Admission()
    shares = (limit.new, limit.checkouts, limit.under_way)
    for times, refuses in ((1.9, (limit.new,)), (2.9, (limit.new, limit.checkouts))):
        for share in shares:
            share.value = 1.0
            share.follow(times * DELAY_S)
        assert [share for share in shares if share.value < 1.0] == [*refuses]
    limit.new.value = limit.checkouts.value = 0.0
    limit.admit(UNDER_WAY)
    limit.admit(UNDER_WAY.encode())
    for priority in (None, "u=3", b"u=5", CHECKOUT, CHECKOUT.encode()):
        with pytest.raises(Unavailable) as refused:
            limit.admit(priority)
        assert refused.value.retry_after_s == 1
    limit.checkouts.value = 1.0
    limit.admit(CHECKOUT.encode())


async def test_a_loop_is_watched_while_it_is_asked_to_and_no_longer() -> None:
    limit = Admission()
    watching = asyncio.create_task(limit.look())
    while limit.new.value == 1.0:
        time.sleep(0.05)  # noqa: ASYNC251 - this keeps the loop from its work
        await asyncio.sleep(0)
    while limit.new.value < 1.0:  # noqa: ASYNC110 - nothing signals it
        await asyncio.sleep(0.05)
    watching.cancel()


async def test_nothing_is_refused_unless_it_is_configured() -> None:
    async with admission(ServiceConfig(component="product")) as limit:
        assert limit is None
    async with admission(ServiceConfig(component="product", admission=True)) as limit:
        assert limit is not None
