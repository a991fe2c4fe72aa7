"""`make prove-cache`, `python -m proofs cache`: writers race readers of a shop whose cache is killed and frozen.

Each change increments a product's price, so a price shows which changes a read includes. A read is stale if it misses a
change that was acknowledged before the read began; its staleness is the time between these two moments.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import typer

from experiment.faults.processes import freeze, kill
from hops.gates.trial import audit_verdict
from hops.run.documents.gate import Verdict
from mesh.components.valkey import VALKEY
from mesh.description.options import Json
from mesh.description.ports import load_ports
from mesh.native.system import System
from proofs.outcome import Progress, proves, with_progress
from proofs.under_faults import crowd
from proofs.under_faults.crowd import first_missed
from proofs.under_faults.shop import address_of, new_shop
from shop.clients.protocol_by_address import connect
from shop.contract.ports import ProductClient
from shop.errors import DeadlineExceeded, ShopError, Unavailable
from shop.money import Money
from shop.platform.deadline import deadline

PRODUCT = "product"
WORKERS = 8
PRODUCTS_EACH = 20
"""Number of products of each worker; no other worker changes them."""
READERS, READERS_AFTER = 4, 2
"""Number of reads that race a change, and number of reads in sequence once the change is acknowledged."""
MAX_LEAD_S = 0.004
"""Maximum time by which a reader starts before or after the writer, in seconds: about the duration of either call."""
FROZEN_S = 0.5
CALL_LIMIT_S = 5.0
NO_ANSWER = (DeadlineExceeded, Unavailable)
LOOK_S = 0.002
RACE_LIMIT_S = 60.0
"""Maximum wait for the races between two kills, in seconds per hundred races."""
BOUND_MS, LIMIT_MS = 1_000, 100
"""The bound is short, so that stale reads are noticed. The limit is longer than the services' default, so that the
cache goes out of use more often because of the proof than because of a busy machine."""
EXPLAINED_S = 5.0
"""A cache lookup that went unanswered at most this many seconds before a missed change explains the stale read."""
CACHED = {"SHOP_CACHE_BOUND_MS": str(BOUND_MS), "SHOP_CACHE_LIMIT_MS": str(LIMIT_MS)}


@dataclass(kw_only=True)
class Outcome(crowd.Outcome):
    """Results of the races.

    Attributes:
        races: Number of changes, each with reads during and after it.
        kills: How often the cache was killed with SIGKILL and restarted.
        freezes: How often the cache was frozen for `FROZEN_S` seconds, during which it keeps its contents.
        bound_s: How stale a read may be, in seconds.
        missed: For each stale read, when the missed change was acknowledged, Unix time.
        max_stale_s: How stale the worst read was, in seconds.
        unexplained: Number of stale reads that nothing explains, because the cache had answered the services in time.
        unanswered: Number of failed requests without an answer in time.
        asked: Number of rows that the services looked up in the cache.
        hits: Number of these rows that the cache had.
    """

    HELD = "No request failed, and no read was too old."
    NOT_SHOWN = "requests failed while other programs used the machine, and no read was too old."
    bound_s: float = BOUND_MS / 1_000
    races: int = 0
    reads: int = 0
    kills: int = 0
    freezes: int = 0
    missed: list[float] = field(default_factory=list)
    max_stale_s: float = 0.0
    unexplained: int = 0
    failed: list[str] = field(default_factory=list)
    unanswered: int = 0
    asked: int = 0
    hits: int = 0

    @property
    def verdict(self) -> Verdict:
        # No read may be too old, and the cache must have been in use.
        refused = len(self.failed) - self.unanswered
        broken = refused + self.unexplained + (self.max_stale_s > self.bound_s) + (self.hits == 0)
        return audit_verdict(broken, self.unanswered, 0, self.other_cores)

    def note_failure(self, what: str, error: ShopError) -> None:
        self.failed.append(f"{what}: {error}")
        self.unanswered += isinstance(error, NO_ANSWER)

    def sentences(self) -> list[str]:
        return [
            f"{self.races:,} changes raced {self.reads:,} reads ({READERS} during each, {READERS_AFTER} after it) "
            f"in {self.wall_s:.0f} s, over two replicas of {PRODUCT}.",
            f"The cache was killed {self.kills} times and frozen {self.freezes} times for {FROZEN_S:g} s; it had "
            f"{self.hits:,} of {self.asked:,} rows.",
            f"{len(self.failed)} requests failed.",
            f"{len(self.missed)} reads missed a change that was acknowledged before they began, "
            f"{self.unexplained} of them although the cache had answered everything; the worst was "
            f"{self.max_stale_s * 1_000:.1f} ms old, allowed: {self.bound_s * 1_000:.0f} ms.",
            *(f"FAILED: {what}" for what in self.failed[:10]),
        ]


def run_races(shop: System, *, races: int, kills: int, seed: int, progress: Progress) -> Outcome:
    """Lets writers race readers, and kills and freezes the cache `kills` times each, spread over the races.

    Must be called from the thread that started the shop. `progress` gets the number of kills so far.
    """
    outcome, limit_s = Outcome(), RACE_LIMIT_S * (1 + races / 100)

    def wait_for(part: float) -> None:
        give_up_at = time.monotonic() + limit_s
        while outcome.races < part * races / (kills + 1) and time.monotonic() < give_up_at:
            time.sleep(LOOK_S)

    def strikes() -> Iterator[None]:
        for number in range(kills):
            wait_for(number + 0.5)
            kill(shop, VALKEY, lambda: time.sleep(FROZEN_S))
            wait_for(number + 1)
            freeze(shop, VALKEY, time.sleep, FROZEN_S)
            outcome.kills = outcome.freezes = number + 1
            yield

    work = _Races(address_of(shop, PRODUCT), races, seed, outcome).run
    with outcome.measure(shop):
        if not crowd.strike(work, strikes(), progress, limit_s=limit_s):
            outcome.failed.append(f"only {outcome.races} of {races} races ended in time")
            outcome.unanswered += 1
    return outcome


class _Races:
    def __init__(self, address: str, races: int, seed: int, outcome: Outcome) -> None:
        self._address, self._left, self._seed, self._outcome = address, races, seed, outcome
        self._acknowledged: dict[int, list[float]] = {}

    async def run(self) -> None:
        async with connect({PRODUCT: self._address}, "chaos") as clients:
            await asyncio.gather(*(self._worker(clients.product, number) for number in range(WORKERS)))

    async def _worker(self, product: ProductClient, number: int) -> None:
        chance = random.Random(f"{self._seed}/{number}")
        mine = [number * PRODUCTS_EACH + index + 1 for index in range(PRODUCTS_EACH)]
        for id_ in mine:
            self._acknowledged[id_] = []
            await self._change(product, id_)
        while self._left > 0:
            self._left -= 1
            id_ = chance.choice(mine)
            leads = [chance.uniform(-MAX_LEAD_S, MAX_LEAD_S) for _ in range(READERS)]
            beside = [self._read(product, id_, MAX_LEAD_S + lead) for lead in leads]
            await asyncio.gather(self._change(product, id_, MAX_LEAD_S), *beside)
            # The first read misses the cache and stores the row; the second, through another replica, hits it.
            for _ in range(READERS_AFTER):
                await self._read(product, id_)
            self._outcome.races += 1

    async def _change(self, product: ProductClient, id_: int, after_s: float = 0.0) -> None:
        await asyncio.sleep(after_s)
        try:
            with deadline(CALL_LIMIT_S):
                await product.update_product(id_, price=Money(1 + len(self._acknowledged[id_]), "EUR"))
        except ShopError as error:
            self._outcome.note_failure("a change", error)
        # A failed change may have been made, but a read that misses it is not stale.
        self._acknowledged[id_].append(time.time())

    async def _read(self, product: ProductClient, id_: int, after_s: float = 0.0) -> None:
        await asyncio.sleep(after_s)
        began = time.time()
        try:
            with deadline(CALL_LIMIT_S):
                (read,) = await product.batch_get_products([id_])
        except ShopError as error:
            self._outcome.note_failure("a read", error)
            return
        self._outcome.reads += 1
        missed_s = first_missed(self._acknowledged[id_], read.price.amount_minor, began)
        if missed_s is not None:
            self._outcome.missed.append(missed_s)
            self._outcome.max_stale_s = max(self._outcome.max_stale_s, began - missed_s)


@proves("prove-cache")
def prove_cache(
    *,
    races: Annotated[int, typer.Option(min=1)],
    kills: Annotated[int, typer.Option(min=0)],
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Let writers race readers of a cached product while its cache is killed. Exit code 3 if a read was too old."""
    with new_shop(load_ports(os.environ), replicas=f"{PRODUCT}:2", cached=CACHED) as shop:
        outcome = with_progress(
            "Kills", kills, lambda step: run_races(shop, races=races, kills=kills, seed=seed, progress=step)
        )
    count_lookups(outcome, shop)
    outcome.give(as_json=as_json)


def count_lookups(outcome: Outcome, shop: System) -> None:
    """Adds the counts of cache lookups that the services logged when they stopped."""
    counts = shop.cache_counts(0.0, float("inf"))[PRODUCT]
    outcome.asked, outcome.hits = counts.asked, counts.hits
    outcome.unexplained = sum(
        not shop.cache_counts(changed - EXPLAINED_S, changed + 1)[PRODUCT].unanswered for changed in outcome.missed
    )
