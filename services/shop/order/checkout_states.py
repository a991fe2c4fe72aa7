"""The checkout saga as a state machine, without any I/O.

    RUNNING ──────────────────────────────────────────────► COMPLETED
      RESERVE ──► AUTHORIZE ──► [order stored] ──► SETTLE       the order's id is the answer
         │            │              pivot           │
         └─────┬──────┘                              └─ confirm the stock and capture the money: repeated until done
               ▼
            UNDOING ──────────────────────────────────────► FAILED
      void the payment, release the stock: repeated until done  the error is the answer

`step` is the furthest step that may have begun: it is stored before the step's call is sent. So a process that resumes
the saga after a crash knows everything that may have happened. A call with an unknown outcome is undone as well. The
other service remembers the release or void of an unknown id, and refuses the original call if that arrives late.

The pivot is the statement that stores the order. Before it, an interrupted saga is undone. From then on, the saga only
moves forward: the stock and the money are reserved, and no rule may refuse the remaining steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from shop.errors import ErrorCode, ShopError
from shop.values.order import CheckoutLine


class Step(StrEnum):
    """A step of the checkout that changes something outside the order service."""

    RESERVE = "RESERVE"
    AUTHORIZE = "AUTHORIZE"
    SETTLE = "SETTLE"


class SagaState(StrEnum):
    """The direction of a saga, or how it has ended."""

    RUNNING = "RUNNING"
    UNDOING = "UNDOING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class Compensation(StrEnum):
    """A call that undoes a step."""

    VOID_PAYMENT = "VOID_PAYMENT"
    RELEASE_STOCK = "RELEASE_STOCK"


UNCERTAIN = frozenset(
    {
        ErrorCode.CONFLICT,
        ErrorCode.RESOURCE_EXHAUSTED,
        ErrorCode.DEADLINE_EXCEEDED,
        ErrorCode.UNAVAILABLE,
        ErrorCode.INTERNAL,
    }
)
"""Errors that leave open whether the call was carried out. After any other error, it was not."""


class Refusal(Struct, frozen=True, gc=False):
    """The answer to a failed checkout, kept for retries of the call."""

    code: ErrorCode
    message: str
    field: str = ""

    @classmethod
    def of(cls, error: ShopError) -> Refusal:
        return cls(error.code, error.message, error.field)


class Checkout(Struct, frozen=True, gc=False):
    """A checkout as it is stored.

    Attributes:
        id: A UUID; also names the stock reservation and the payment.
        step: The furthest step that may have begun.
        order_id: The order; None before the pivot.
        refusal: The error for the caller; None unless the saga is undoing or has failed.
        epoch: Number of processes that have driven the checkout; only the last of them may change it.
    """

    id: str
    user_id: int
    idempotency_key: str
    request_hash: bytes
    state: SagaState = SagaState.RUNNING
    step: Step = Step.RESERVE
    order_id: int | None = None
    refusal: Refusal | None = None
    epoch: int = 1


def request_hash(lines: Sequence[CheckoutLine], payment_token: str) -> bytes:
    """Returns a hash that distinguishes the bodies of checkouts; it does not reveal the card."""
    body = [[[line.product_id, line.quantity] for line in lines], payment_token]
    return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).digest()


def uncertain(error: Exception) -> bool:
    """Returns whether a call that ended with this error may have been carried out."""
    return not isinstance(error, ShopError) or error.code in UNCERTAIN


def undo_from(step: Step, error: Exception) -> Step | None:
    """Returns the furthest step to undo after a step's call failed.

    Returns:
        The step itself if the call may have been carried out, else the previous step; None if nothing was done.
    """
    if uncertain(error):
        return step
    return {Step.RESERVE: None, Step.AUTHORIZE: Step.RESERVE}[step]


def compensations(step: Step) -> tuple[Compensation, ...]:
    """Returns the calls that undo everything up to a step, newest first."""
    return {
        Step.RESERVE: (Compensation.RELEASE_STOCK,),
        Step.AUTHORIZE: (Compensation.VOID_PAYMENT, Compensation.RELEASE_STOCK),
    }[step]
