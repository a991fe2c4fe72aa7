"""The kill test: kill and restart, again and again; in the end wait for recovery and audit."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaos.customers import ANSWER_LIMIT_S, Customers
from chaos.shop import Shop
from dataset.acknowledged import read_acknowledged
from dataset.audit import Finding, audit

VICTIMS = ("order", "notification")
"""The services whose processes are killed. Customers buy from the first; what the second is told must not be lost."""
LIFE_S = (0.0, 0.3)
"""How long all replicas of the victim live after customers have begun to buy from it again, in seconds."""
TRADE_LIMIT_S = 5.0
"""Longest wait for that, in seconds: customers pause before they connect again."""
RECOVERY_LIMIT_S = 60.0
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of the kill test.

    Attributes:
        kills: Number of times that a process of order or notification was killed with SIGKILL.
        wall_s: Duration of the test, in seconds.
        restart_s: Mean time from a kill until the process answered again, in seconds.
        interrupted: Sagas that a process drove at the moment it was killed, by kind, summed over all kills.
        kills_in_saga: Number of kills that left at least one saga unfinished.
        customers: What the customers saw, by kind.
        recovery_s: Time from the last restart until no saga was under way any more and all updates were delivered, in
            seconds.
        left: Sagas that were still under way after that, by kind, and updates not delivered; empty if all went well.
        wrong: Answers that no customer should have got.
        findings: What the audit found.
    """

    kills: int
    wall_s: float
    restart_s: float
    interrupted: dict[str, int]
    kills_in_saga: int
    customers: dict[str, int]
    recovery_s: float
    left: dict[str, int]
    wrong: list[str]
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        """Whether nothing was lost, done twice or left half done."""
        return not self.left and not self.wrong and all(finding.ok for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The outcome for programs."""
        return {"ok": self.ok, **asdict(self)}


def run_kills(
    shop: Shop, journal: Path, *, kills: int, customers: int, seed: int, progress: Callable[[int], None]
) -> Outcome:
    """Kills a replica of a running shop's order or notification service at random moments while customers check out.

    Must be called from the thread that started the shop.

    Args:
        shop: The running shop.
        journal: Where acknowledged checkouts are noted.
        kills: Number of kills.
        customers: Number of customers who buy at the same time.
        seed: Seed of the random moments and purchases.
        progress: Called after each kill with the number of kills so far.
    """
    crowd = _Crowd(Customers(shop.address(VICTIMS[0]), journal, count=customers, seed=seed))
    chance = random.Random(f"{seed}/kills")
    interrupted: Counter[str] = Counter()
    kills_in_saga, down_s, began = 0, 0.0, time.monotonic()
    crowd.start()
    try:
        for number in range(1, kills + 1):
            crowd.wait_for_trade()
            time.sleep(chance.uniform(*LIFE_S))
            victim = chance.choice([process for service in VICTIMS for process in shop.replicas(service)])
            shop.kill(victim)
            killed = time.monotonic()
            unfinished = shop.unfinished(victim)
            interrupted += unfinished
            kills_in_saga += bool(unfinished)
            shop.restart(victim)
            down_s += time.monotonic() - killed
            progress(number)
        last_restart = time.monotonic()
    finally:
        crowd.stop()
    left = shop.unfinished()
    while (left or shop.undelivered()) and time.monotonic() - last_restart < RECOVERY_LIMIT_S:
        time.sleep(POLL_S)
        left = shop.unfinished()
    if undelivered := shop.undelivered():
        left["undelivered update"] = undelivered
    recovery_s = time.monotonic() - last_restart
    findings = audit(
        shop.admin_url, shop.database_name, acknowledged=read_acknowledged(journal), grace_s=RECOVERY_LIMIT_S
    )
    return Outcome(
        kills=kills,
        wall_s=time.monotonic() - began,
        restart_s=down_s / max(kills, 1),
        interrupted=dict(sorted(interrupted.items())),
        kills_in_saga=kills_in_saga,
        customers=dict(sorted(crowd.customers.seen.items())),
        recovery_s=recovery_s,
        left=dict(left),
        wrong=crowd.customers.wrong,
        findings=findings,
    )


class _Crowd:
    """The customers in an event loop and a thread of their own: the shop's processes belong to the main thread."""

    def __init__(self, customers: Customers) -> None:
        self.customers = customers
        self._loop = asyncio.new_event_loop()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="customers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait_for_trade(self) -> None:
        """Waits until a customer gets a new answer; gives up after a while, since a kill may come at any time."""
        before, give_up_at = self.customers.answers, time.monotonic() + TRADE_LIMIT_S
        while self.customers.answers == before and time.monotonic() < give_up_at:
            time.sleep(0.001)

    def stop(self) -> None:
        """Stops the customers, and waits until each has the answer to the current purchase."""
        self._loop.call_soon_threadsafe(self.customers.stop)
        self._thread.join(3 * ANSWER_LIMIT_S)
        if self._thread.is_alive():
            raise RuntimeError("the customers did not finish")
        self._loop.close()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self.customers.run())
        except BaseException as error:  # handed to the main thread
            self._error = error
