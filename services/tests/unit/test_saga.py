"""The rules of the checkout saga."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from shop import errors
from shop.errors import ErrorCode, ShopError
from shop.order.checkout_states import UNCERTAIN, Compensation, Step, compensations, request_hash, uncertain, undo_from
from shop.order.sagas.retries import ATTEMPTS, MAX_BACKOFF_S, backoff, with_retries
from shop.platform.error_codes import ERROR_TABLE
from shop.values.order import CheckoutLine

BEFORE_PIVOT = (Step.RESERVE, Step.AUTHORIZE)


@pytest.mark.parametrize("step", BEFORE_PIVOT)
@pytest.mark.parametrize("code", ErrorCode)
def test_a_call_is_undone_unless_its_error_says_that_nothing_was_done(step: Step, code: ErrorCode) -> None:
    error = ERROR_TABLE[code].error("because")
    undone = undo_from(step, error)
    if code in UNCERTAIN:
        assert undone is step
    else:
        assert undone is (None if step is Step.RESERVE else Step.RESERVE)


def test_an_unknown_error_is_uncertain() -> None:
    assert uncertain(RuntimeError("a bug"))
    assert undo_from(Step.AUTHORIZE, KeyError("x")) is Step.AUTHORIZE


def test_a_step_also_undoes_earlier_steps_newest_first() -> None:
    assert compensations(Step.RESERVE) == (Compensation.RELEASE_STOCK,)
    assert compensations(Step.AUTHORIZE) == (Compensation.VOID_PAYMENT, Compensation.RELEASE_STOCK)


def test_bodies_that_differ_have_different_hashes() -> None:
    bodies = [
        ([CheckoutLine(1, 2)], "tok_ok"),
        ([CheckoutLine(1, 2)], "tok_declined"),
        ([CheckoutLine(2, 1)], "tok_ok"),
        ([CheckoutLine(12, 1)], "tok_ok"),
        ([CheckoutLine(1, 2), CheckoutLine(1, 2)], "tok_ok"),
        ([CheckoutLine(1, 2), CheckoutLine(3, 4)], "tok_ok"),
        ([CheckoutLine(3, 4), CheckoutLine(1, 2)], "tok_ok"),
    ]
    for left, right in itertools.combinations(bodies, 2):
        assert request_hash(*left) != request_hash(*right)
    assert request_hash(*bodies[0]) == request_hash([CheckoutLine(1, 2)], "tok_ok")


async def test_retries_repeat_only_uncertain_calls() -> None:
    async def attempts(*outcomes: BaseException | None) -> tuple[int, str]:
        left, made = list(outcomes), 0

        async def call() -> str:
            nonlocal made
            made += 1
            outcome = left.pop(0)
            if outcome is not None:
                raise outcome
            return "done"

        try:
            return made, await with_retries(call)
        except (ShopError, asyncio.CancelledError) as error:
            return made, type(error).__name__

    away = errors.Unavailable("away")
    assert await attempts(away, away, None) == (0, "done")
    assert await attempts(*[away] * ATTEMPTS) == (ATTEMPTS, "Unavailable")
    assert await attempts(errors.FailedPrecondition("no"), None) == (1, "FailedPrecondition")
    assert await attempts(asyncio.CancelledError(), None) == (1, "CancelledError")


def test_pauses_double_up_to_a_limit() -> None:
    pauses = [backoff(epoch) for epoch in range(1, 100)]
    assert pauses[:4] == [1.0, 2.0, 4.0, 8.0]
    assert max(pauses) == MAX_BACKOFF_S
    assert pauses == sorted(pauses)
