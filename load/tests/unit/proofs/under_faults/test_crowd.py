"""Faults while customers use the shop, and the end of a proof."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from proofs.under_faults.cache import Outcome
from proofs.under_faults.crowd import strike


async def _fail() -> None:
    raise ValueError("no shop")


def test_each_strike_is_counted_and_then_the_customers_are_stopped() -> None:
    seen: list[object] = []
    stopped = threading.Event()

    async def work() -> None:
        await asyncio.to_thread(stopped.wait, 10)

    def stop() -> None:
        stopped.set()
        seen.append("stop")

    assert strike(work, iter([None, None]), seen.append, limit_s=10, stop=stop)
    assert seen == [1, 2, "stop"]


def test_customers_who_do_not_finish_in_time_are_reported() -> None:
    assert not strike(lambda: asyncio.sleep(0.5), iter([]), print, limit_s=0.01)


def test_an_error_of_customers_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="no shop"):
        strike(_fail, iter([]), print, limit_s=10)


def test_a_failed_strike_stops_the_customers() -> None:
    stopped: list[bool] = []

    def strikes() -> Iterator[None]:
        yield
        raise OSError("not struck")

    with pytest.raises(OSError, match="not struck"):
        strike(lambda: asyncio.sleep(0), strikes(), print, limit_s=10, stop=lambda: stopped.append(True))
    assert stopped == [True]


@pytest.mark.parametrize(
    ("outcome", "code", "sentence"),
    [
        (Outcome(hits=9), 0, "No request failed"),
        (Outcome(hits=0), 3, "The proof FAILED."),
        (Outcome(hits=9, unanswered=1, failed=["a read: late"], other_cores=1.5), 0, "NOT SHOWN: requests failed"),
    ],
    ids=["valid", "wrong", "noisy"],
)
def test_an_outcome_is_printed_with_its_verdict_and_wrong_ones_exit_with_3(
    outcome: Outcome, code: int, sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    for as_json in (False, True):
        ended: object = 0
        try:
            outcome.give(as_json=as_json)
        except SystemExit as end:
            ended = end.code
        assert ended == code
        printed = capsys.readouterr().out
        if as_json:
            assert json.loads(printed)["verdict"] == outcome.verdict
        else:
            assert sentence in printed
