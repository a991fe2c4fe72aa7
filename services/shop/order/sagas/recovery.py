"""Finishes the sagas that a crashed process left half done; looks for such sagas at the start and periodically."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, TypeAlias

from shop.errors import ShopError
from shop.order.ports import TakenOver
from shop.order.sagas.cancellation import CancellationSaga
from shop.order.sagas.checkout import CheckoutSaga
from shop.order.sagas.retries import backoff

log = logging.getLogger(__name__)

BATCH = 16
"""Number of sagas per batch; they are driven in parallel, so that no saga waits until its lease has ended."""
PERIOD_S = 1.0
Saga: TypeAlias = CheckoutSaga | CancellationSaga


class Recovery:
    """Finishes sagas without a driver."""

    def __init__(self, checkouts: CheckoutSaga, cancellations: CancellationSaga) -> None:
        self._kinds: tuple[Saga, ...] = (checkouts, cancellations)

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
        return sum([await self._sweep(kind) for kind in self._kinds])

    async def _sweep(self, kind: Saga) -> int:
        finished = 0
        while stuck := await kind.take_stuck(BATCH):
            finished += sum(await asyncio.gather(*(self._finish(kind, saga) for saga in stuck)))
            if len(stuck) < BATCH:
                break
        if finished:
            log.info("recovery finished %d interrupted sagas", finished)
        return finished

    @staticmethod
    async def _finish(kind: Saga, saga: Any) -> bool:
        try:
            await kind.take_up(saga)
        except TakenOver:
            return False
        except Exception as error:
            log.warning("recovery could not finish %s yet: %s", saga.id, error)
        else:
            return True
        try:
            await kind.postpone(saga, backoff(saga.epoch))
        except ShopError as error:
            log.warning("recovery could not postpone %s: %s", saga.id, error)
        return False
