"""A simulated bank: its answer depends only on the token, and its delay is a setting."""

from __future__ import annotations

import asyncio

from shop.money import Money
from shop.platform.telemetry.tracing import child_span

ANSWERS = {"tok_ok": "", "tok_declined": "card declined", "tok_insufficient_funds": "insufficient funds"}
"""Why each token is declined; empty for the token that is accepted."""


class SimulatedBank:
    """Answers by the token alone.

    This bank keeps no data. So if a checkout is voided while its amount is being reserved, nothing need be returned.
    """

    def __init__(self, delay_s: float = 0.0) -> None:
        self._delay_s = delay_s

    def accepts(self, payment_token: str) -> bool:
        return payment_token in ANSWERS

    async def authorize(self, amount: Money, payment_token: str) -> str:  # noqa: ARG002 - a real bank looks at it
        with child_span("bank.authorize"):
            if self._delay_s > 0:
                await asyncio.sleep(self._delay_s)
            return ANSWERS[payment_token]
