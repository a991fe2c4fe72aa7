"""The kill test: kill and restart, again and again; in the end wait for recovery and audit."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chaos.crowd import Crowd
from chaos.customers import ANSWER_LIMIT_S, Customers
from chaos.shop import Shop
from dataset.acknowledged import read_acknowledged
from dataset.audit import Finding, audit
from experiment.faults.processes import kill
from experiment.faults.settling import LIMIT_S, count_unfinished, wait_until_settled
from experiment.trial.resources import OtherWork
from hops.gates.trial import audit_verdict
from hops.run.documents.gate import Verdict

VICTIMS = ("order", "notification")
"""The services whose processes are killed. Customers buy from the first; what the second is told must not be lost."""
LIFE_S = (0.0, 0.3)
"""How long all replicas of the victim live after customers have begun to buy from it again, in seconds."""
TRADE_LIMIT_S = 5.0
"""Longest wait for that, in seconds: customers pause before they connect again."""


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
        recovery_s: Time from the customers' last answer until no saga was under way and all updates were delivered, in
            seconds.
        left: Sagas that were still under way after that, by kind, and updates not delivered; empty if all went well.
        unanswered: Calls that customers repeated in vain.
        other_cores: Cores that other programs used meanwhile.
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
    unanswered: int
    other_cores: float
    wrong: list[str]
    findings: list[Finding]

    @property
    def verdict(self) -> Verdict:
        """The verdict, as `audit_verdict` has it."""
        broken = len(self.wrong) + sum(not finding.ok for finding in self.findings)
        return audit_verdict(broken, self.unanswered, sum(self.left.values()), self.other_cores)

    def as_dict(self) -> dict[str, Any]:
        """The outcome for programs."""
        return {"verdict": self.verdict, **asdict(self)}


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
    buyers = Customers(shop.address(VICTIMS[0]), journal, count=customers, seed=seed)
    chance = random.Random(f"{seed}/kills")
    interrupted: Counter[str] = Counter()
    kills_in_saga, down_s, began = 0, 0.0, time.monotonic()
    others = OtherWork(shop.all_pids)

    def look(victim: str) -> None:
        nonlocal kills_in_saga
        driven = count_unfinished(shop.store_url, victim)
        interrupted.update(driven)
        kills_in_saga += bool(driven)

    crowd = Crowd(buyers.run)
    try:
        for number in range(1, kills + 1):
            _wait_for_trade(buyers)
            time.sleep(chance.uniform(*LIFE_S))
            victim = chance.choice([process for service in VICTIMS for process in shop.replicas(service)])
            killed = time.monotonic()
            kill(shop, victim, partial(look, victim))
            down_s += time.monotonic() - killed
            progress(number)
    finally:
        buyers.stop()
        if not crowd.wait(3 * ANSWER_LIMIT_S):
            raise RuntimeError("the customers did not finish")
    recovery_s, left = wait_until_settled(shop.store_url)
    findings = audit(shop.admin_url, shop.database_name, acknowledged=read_acknowledged(journal), grace_s=LIMIT_S)
    return Outcome(
        kills=kills,
        wall_s=time.monotonic() - began,
        restart_s=down_s / max(kills, 1),
        interrupted=dict(sorted(interrupted.items())),
        kills_in_saga=kills_in_saga,
        customers=dict(sorted(buyers.seen.items())),
        recovery_s=recovery_s,
        left=dict(left),
        unanswered=buyers.unanswered,
        other_cores=others.cores,
        wrong=buyers.wrong,
        findings=findings,
    )


def _wait_for_trade(customers: Customers) -> None:
    """Waits until a customer gets a new answer; gives up after a while, since a kill may come at any time."""
    before, give_up_at = customers.answers, time.monotonic() + TRADE_LIMIT_S
    while customers.answers == before and time.monotonic() < give_up_at:
        time.sleep(0.001)
