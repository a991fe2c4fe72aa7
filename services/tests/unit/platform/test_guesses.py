"""Logins from addresses with failures leave room for others."""

from __future__ import annotations

import asyncio

import pytest

from shop.errors import DeadlineExceeded, TooManyRequests, Unauthenticated
from shop.platform.access import guesses
from shop.platform.access.guesses import MAX_FAILURES, MAX_SUSPECT, count_failure
from shop.platform.deadline import OVER


def fail(address: str) -> None:
    with pytest.raises(Unauthenticated), count_failure(address):
        raise Unauthenticated("e-mail and password do not match")


async def test_suspect_addresses_share_a_place_and_others_do_not_wait_for_it() -> None:
    """Uses addresses that no other test uses, because failures are counted for the whole process."""
    suspects = [f"198.51.100.{number}" for number in range(1, MAX_SUSPECT + 2)]
    for address in suspects:
        fail(address)
    checked = asyncio.Event()

    async def log_in(address: str | None) -> None:
        with count_failure(address):
            await checked.wait()

    under_way = [asyncio.ensure_future(log_in(address)) for address in suspects[:MAX_SUSPECT]]
    others = [asyncio.ensure_future(log_in(address)) for address in ("198.51.100.200", "198.51.100.200", None)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests) as refused:
        await log_in(suspects[-1])
    assert refused.value.retry_after_s == 1
    checked.set()
    await asyncio.gather(*under_way, *others)
    await log_in(suspects[-1])


@pytest.mark.parametrize("abandoned", [DeadlineExceeded(OVER), TimeoutError(), asyncio.CancelledError()])
def test_logins_that_their_client_soon_abandons_count_as_failed(abandoned: BaseException) -> None:
    address = f"client-{type(abandoned).__name__}"
    for _ in range(MAX_FAILURES):
        with pytest.raises(type(abandoned)), count_failure(address):
            raise abandoned
    with pytest.raises(TooManyRequests), count_failure(address):
        pytest.fail("the login was let in")


def test_logins_that_are_late_in_an_overload_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "MIN_PATIENCE_S", 0.0)
    for _ in range(MAX_FAILURES + 1):
        with pytest.raises(TimeoutError), count_failure("patient-client"):
            raise TimeoutError
