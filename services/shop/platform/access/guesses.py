"""Limits failed logins and sign-ups from one client address, so that one client leaves room for the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from shop.errors import DeadlineExceeded, Unauthenticated
from shop.platform.admission import Slots
from shop.platform.rates import Rates

MAX_FAILURES, WINDOW_S = 10, 60.0
"""Number of failed logins that one address may have in a burst, and as many again in the course of each minute."""
MIN_PATIENCE_S = 2.0
"""How long a client must wait for a login, in seconds: a login that its client abandons sooner counts as failed. A
password waits at most half as long to be hashed, so a login that takes longer is late for another reason."""
MAX_SUSPECT = 1
"""Number of logins that a process checks at a time, for all addresses with recent failures together."""
MAX_SIGN_UPS, SIGN_UP_WINDOW_S = 20, 20.0
"""Number of sign-ups that one address may have in a burst, and as many again in the course of each 20 seconds."""
_FAILURES, _SIGN_UPS = Rates(WINDOW_S), Rates(SIGN_UP_WINDOW_S)
_SUSPECTS = Slots(MAX_SUSPECT, "logins from this address have failed, and others are being checked; try again in 1 s")


@contextmanager
def count_failure(address: str | None) -> Iterator[None]:
    """Counts the login that runs inside the context, if the login fails; a call from inside has no address.

    A login that its client soon abandons counts too, because its password may be hashed all the same.

    Raises `TooManyRequests`, before a password is hashed, if too many logins from the address have failed. It raises
    this too if some have failed, and a login from such an address is already being checked.
    """
    if address is None:
        yield
        return
    _FAILURES.check(address, MAX_FAILURES, "too many logins from this address have failed")
    is_suspect = _FAILURES.count_spent(address, MAX_FAILURES) > 0
    patient_at = time.monotonic() + MIN_PATIENCE_S
    try:
        with _SUSPECTS.hold() if is_suspect else nullcontext():
            yield
    except Unauthenticated:
        _FAILURES.count(address, MAX_FAILURES)
        raise
    except (DeadlineExceeded, TimeoutError, asyncio.CancelledError):
        if time.monotonic() < patient_at:
            _FAILURES.count(address, MAX_FAILURES)
        raise


@contextmanager
def count_sign_up(address: str | None) -> Iterator[None]:
    """Counts the sign-up that runs inside the context; a call from inside has no address.

    Raises `TooManyRequests`, before a password is hashed, if the address has signed up too often.
    """
    if address is not None:
        _SIGN_UPS.check(address, MAX_SIGN_UPS, "there were too many sign-ups from this address")
        _SIGN_UPS.count(address, MAX_SIGN_UPS)
    yield
