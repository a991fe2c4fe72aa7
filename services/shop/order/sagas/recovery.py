"""Finishes the sagas that a crashed process left half done; looks for such sagas at the start and periodically."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol, TypeVar

from shop.errors import ShopError
from shop.order.checkout_states import Checkout
from shop.order.ports import Cancellation, TakenOver
from shop.order.sagas.cancellation import CancellationSaga
from shop.order.sagas.checkout import CheckoutSaga
from shop.order.sagas.retries import backoff

log = logging.getLogger(__name__)

BATCH = 16
"""Number of sagas per batch; they are driven in parallel, so that no saga waits until its lease has ended."""
PERIOD_S = 1.0
Started = TypeVar("Started", Checkout, Cancellation)


class Saga(Protocol[Started]):
    """What recovery needs of a saga."""

    async def take_stuck(self, limit: int, /) -> list[Started]: ...
    async def take_up(self, started: Started, /) -> None: ...
    async def postpone(self, started: Started, seconds: float, /) -> None: ...


class Recovery:
    """Finishes sagas without a driver."""

    def __init__(self, checkouts: CheckoutSaga, cancellations: CancellationSaga) -> None:
        self._checkouts, self._cancellations = checkouts, cancellations

    async def run(self) -> None:
        """Looks for stuck sagas until it is cancelled; no failure ends it."""
        while True:
            try:
                await self.sweep()
            except ShopError as error:
                log.warning("recovery could not look for stuck sagas: %s", error.message)
            except Exception:
                log.exception("recovery could not look for stuck sagas")
            await asyncio.sleep(PERIOD_S)

    async def sweep(self) -> int:
        """Takes over every stuck saga once; returns how many it finished. Raises `ShopError` without the database."""
        return await self._sweep(self._checkouts) + await self._sweep(self._cancellations)

    async def _sweep(self, saga: Saga[Started]) -> int:
        finished = 0
        while stuck := await saga.take_stuck(BATCH):
            finished += sum(await asyncio.gather(*(self._finish(saga, started) for started in stuck)))
            if len(stuck) < BATCH:
                break
        if finished:
            log.info("recovery finished %d interrupted sagas", finished)
        return finished

    @staticmethod
    async def _finish(saga: Saga[Started], started: Started) -> bool:
        try:
            await saga.take_up(started)
        except TakenOver:
            return False
        except Exception as error:
            log.warning("recovery could not finish %s yet: %s", started.id, error)
        else:
            return True
        try:
            await saga.postpone(started, backoff(started.epoch))
        except ShopError as error:
            log.warning("recovery could not postpone %s: %s", started.id, error)
        return False
