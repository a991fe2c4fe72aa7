"""A peer in trouble gets few retries; a peer that was briefly unavailable gets all of them."""

from __future__ import annotations

import pytest

from shop.errors import NotFound, Unavailable
from shop.platform import retries
from shop.platform.retries import MAX_TOKENS, TOKENS_PER_ANSWER, Retries


class Peer:
    """Fails a number of calls, and answers the calls after them."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self.asked <= self.failures:
            raise Unavailable("away")
        return "12 left"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSES_S", (0.0, 0.0))


async def test_a_read_is_tried_three_times_and_anything_else_once() -> None:
    peer = Peer(2)
    assert await Retries().run(peer.ask, again=True) == "12 left"
    assert peer.asked == 3
    for again, tries in ((True, 3), (False, 1)):
        away = Peer(10)
        with pytest.raises(Unavailable):
            await Retries().run(away.ask, again=again)
        assert away.asked == tries


async def test_answered_keys_are_not_sent_again() -> None:
    calls = 0

    async def refuse() -> None:
        nonlocal calls
        calls += 1
        raise NotFound("no such product")

    with pytest.raises(NotFound):
        await Retries().run(refuse, again=True)
    assert calls == 1


async def test_a_peer_that_stays_away_is_asked_once_for_each_call_until_it_has_answered_again() -> None:
    budget, away = Retries(), Peer(10_000)
    for _ in range(1_000):
        with pytest.raises(Unavailable):
            await budget.run(away.ask, again=True)
    assert away.asked < 1_000 + MAX_TOKENS / 2
    back, answers = Peer(0), round(MAX_TOKENS / 2 / TOKENS_PER_ANSWER) + 20
    for _ in range(answers):
        await budget.run(back.ask, again=True)
    once_more = Peer(1)
    assert await budget.run(once_more.ask, again=True) == "12 left"
