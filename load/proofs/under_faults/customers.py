"""Customers who check out without a pause, and retry each call until it is answered, as a careful client does."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from shop.clients.protocol_by_address import connect
from shop.contract.ports import OrderClient
from shop.errors import Conflict, DeadlineExceeded, Internal, ResourceExhausted, ShopError, Unavailable
from shop.platform.deadline import deadline
from shop.values.order import CheckoutLine, Order

T = TypeVar("T")

POOL = (8_001, 9_900)
"""First and last id of the seeded users and products that checkouts may use."""
CALL_LIMIT_S = 2.0
ANSWER_LIMIT_S = 60.0
PAUSE_S = (0.01, 0.1)
DECLINED, ABANDONED, REPEATED, CANCELLED = 0.1, 0.1, 0.2, 0.1
"""Shares of purchases that are paid with a declined card, abandoned in the middle and never retried, repeated after
their answer, and cancelled after their answer."""
MAX_BEFORE_ABANDONING_S = 0.03
REPEAT_AFTER = (Unavailable, DeadlineExceeded, Conflict, Internal, ResourceExhausted)
"""After these errors the same call is retried with the same idempotency key."""


class _NoAnswerError(Exception):
    """A call got no answer despite retries."""


class Customers:
    """A crowd of customers, each of whom makes one purchase after another.

    Args:
        address: The order service, "grpc://host:port".
        journal: File for acknowledged checkouts, in the format of a replay's journeys.jsonl.

    Attributes:
        answers: Answers so far.
        unanswered: Calls without an answer within `ANSWER_LIMIT_S`.
        seen: Number of events that the customers observed, by kind.
        wrong: Answers that no customer should have got.
    """

    def __init__(self, address: str, journal: Path, *, count: int, seed: int) -> None:
        self._address, self._journal, self._count, self._seed = address, journal, count, seed
        self._stop = threading.Event()
        self.answers = self.unanswered = 0
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def run(self) -> None:
        """Buys until `stop`; then every customer still waits for the answer to the current purchase."""
        async with connect({"order": self._address}, "chaos") as clients:
            with self._journal.open("w", encoding="utf-8", buffering=1) as self._rows:
                chances = (random.Random(f"{self._seed}/{number}") for number in range(self._count))
                await asyncio.gather(*(self._shop(clients.order, chance) for chance in chances))

    def stop(self) -> None:
        """Stops the customers after their current purchases."""
        self._stop.set()

    async def _shop(self, order: OrderClient, chance: random.Random) -> None:
        while not self._stop.is_set():
            try:
                await self._buy(order, chance)
            except _NoAnswerError:
                self.unanswered += 1

    async def _buy(self, order: OrderClient, chance: random.Random) -> None:
        user, key = chance.randint(*POOL), str(uuid.UUID(int=chance.getrandbits(128)))
        products = sorted(chance.sample(range(POOL[0], POOL[1] + 1), chance.randint(1, 5)))
        lines = [CheckoutLine(product, chance.randint(1, 2)) for product in products]
        token = "tok_declined" if chance.random() < DECLINED else "tok_ok"
        buy = partial(order.checkout, user_id=user, lines=lines, payment_token=token, idempotency_key=key)
        if chance.random() < ABANDONED:
            await self._abandon(buy, chance)
            return
        bought = await self._until_answered("checkout", buy, chance)
        if bought is None:
            return
        row = {"journey": "checkout", "outcome": "ok", "order_id": bought.id, "user_id": user, "idempotency_key": key}
        self._rows.write(json.dumps(row) + "\n")
        if [CheckoutLine(line.product_id, line.quantity) for line in bought.lines] != lines:
            self.wrong.append(f"order {bought.id} does not have the lines that were bought")
        if chance.random() < REPEATED:
            again = await self._until_answered("repetition", buy, chance)
            if again is None or again.id != bought.id:
                self.wrong.append(f"repeating the checkout of order {bought.id} gave {again}")
        if chance.random() < CANCELLED:
            await self._until_answered("cancellation", partial(order.cancel_order, bought.id), chance)

    async def _until_answered(self, what: str, call: Callable[[], Awaitable[T]], chance: random.Random) -> T | None:
        """Retries a call until its answer; returns None if it is refused. Raises _NoAnswerError if time runs out."""
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                while True:
                    try:
                        with deadline(CALL_LIMIT_S):
                            answer = await call()
                    except REPEAT_AFTER as error:
                        self.seen[f"repeated after {error.code.value}"] += 1
                        await asyncio.sleep(chance.uniform(*PAUSE_S))
                    except ShopError as error:
                        self.seen[f"{what} refused: {error.code.value}"] += 1
                        return None
                    else:
                        self.answers += 1
                        self.seen[f"{what} acknowledged"] += 1
                        return answer
        except TimeoutError as error:
            self.seen[f"{what} without an answer within {ANSWER_LIMIT_S:g} s"] += 1
            raise _NoAnswerError from error

    async def _abandon(self, call: Callable[[], Awaitable[Order]], chance: random.Random) -> None:
        self.seen["checkout abandoned"] += 1
        with suppress(TimeoutError, ShopError):
            async with asyncio.timeout(chance.uniform(0.0, MAX_BEFORE_ABANDONING_S)):
                with deadline(CALL_LIMIT_S):
                    await call()
