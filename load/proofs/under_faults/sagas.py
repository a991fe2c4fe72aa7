"""`make prove-sagas`, `python -m proofs sagas`: kills and restarts services, then waits for recovery and audits."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dataset.acknowledged import read_acknowledged
from dataset.audit import Finding, audit
from experiment.faults.processes import kill
from experiment.faults.settling import LIMIT_S, count_unfinished, wait_until_settled
from hops.elements.element import Element
from hops.elements.table import Column, Table, table_of, whole, words
from hops.gates.trial import audit_verdict
from hops.run.documents.gate import Verdict
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.description.options import Given, Json
from mesh.description.ports import load_ports
from mesh.native.system import System
from proofs.outcome import Progress, proves, with_progress
from proofs.under_faults import crowd
from proofs.under_faults.customers import ANSWER_LIMIT_S, Customers
from proofs.under_faults.shop import address_of, new_shop, processes_of

VICTIMS = ("order", "notification")
"""The services whose processes are killed. Customers buy from the first; the second must lose no update."""
LIFE_S = (0.0, 0.3)
"""Range of the time between a new purchase and the next kill, in seconds."""
BOUGHT = "checkout acknowledged"
"""Event of a successful purchase."""
TRADE_LIMIT_S = 5.0
"""Maximum wait for a purchase, in seconds: customers pause before they reconnect."""


@dataclass(kw_only=True)
class Outcome(crowd.Outcome):
    """The outcome of the kill test.

    Attributes:
        kills: Number of times that a process of order or notification was killed with SIGKILL.
        restart_s: Mean time from a kill until the process answered again, in seconds.
        interrupted: Sagas that a process drove at the moment it was killed, by kind, summed over all kills.
        kills_in_saga: Number of kills that left at least one saga unfinished.
        customers: Number of events that the customers observed, by kind.
        recovery_s: Time from the customers' last answer until no saga was under way and all updates were delivered, in
            seconds.
        left: Sagas still under way after the wait, by kind, and undelivered updates; empty if all went well.
        unanswered: Number of calls without an answer despite retries.
        wrong: Answers that no customer should have got.
    """

    HELD = "Nothing was lost, doubled or left unfinished."
    NOT_SHOWN = "the machine was busy, and nothing was lost. Repeat it while the machine is idle."
    kills: int
    restart_s: float = 0.0
    interrupted: Mapping[str, int] = field(default_factory=dict)
    kills_in_saga: int = 0
    customers: Mapping[str, int] = field(default_factory=dict)
    recovery_s: float = 0.0
    left: Mapping[str, int] = field(default_factory=dict)
    unanswered: int = 0
    wrong: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        # A shop that sells nothing loses nothing.
        broken = len(self.wrong) + sum(not finding.ok for finding in self.findings) + (not self.customers.get(BOUGHT))
        return audit_verdict(broken, self.unanswered, sum(self.left.values()), self.other_cores)

    def sentences(self) -> list[str]:
        unanswered = (
            f"{self.unanswered} calls were repeated in vain for {ANSWER_LIMIT_S:g} s; other programs used "
            f"{self.other_cores:.1f} cores."
        )
        return [
            f"{self.kills} kills in {self.wall_s:.0f} s, {self.restart_s:.2f} s on average until the process answered "
            "again.",
            f"{self.kills_in_saga} kills interrupted {sum(self.interrupted.values())} sagas.",
            f"Interrupted sagas ended {self.recovery_s:.1f} s after the last answer.",
            *(f"STILL UNDER WAY: {count} {what}" for what, count in self.left.items()),
            *(f"WRONG: {what}" for what in self.wrong),
            *([] if self.customers.get(BOUGHT) else ["WRONG: no customer could buy anything"]),
            *([unanswered] if self.unanswered else []),
            *(f"BROKEN: {finding.name}: {sample}" for finding in self.findings for sample in finding.samples),
        ]

    def tables(self) -> list[Element]:
        return [
            _counts_table("interrupted", "Interrupted sagas", self.interrupted),
            _counts_table("customers", "Events that the customers saw", self.customers),
            table_of(
                "invariants",
                "Invariants of the shop after the kills",
                self.findings,
                [
                    (Column("invariant", numeric=False), lambda finding: words(finding.promise)),
                    (Column("checked"), lambda finding: whole(finding.checked)),
                    (Column("violations"), lambda finding: whole(finding.violations)),
                    (Column("verdict", numeric=False), lambda finding: words("ok" if finding.ok else "BROKEN")),
                ],
            ),
        ]


def _counts_table(key: str, caption: str, counts: Mapping[str, int]) -> Table:
    rows = [[words(what), whole(count)] for what, count in counts.items()]
    return Table(key, caption, [Column("what", numeric=False), Column("number")], rows)


def run_kills(shop: System, journal: Path, *, kills: int, customers: int, seed: int, progress: Progress) -> Outcome:
    """Kills a replica of a running shop's order or notification service at random moments while customers check out.

    Must be called from the thread that started the shop. The file `journal` gets the acknowledged checkouts.
    """
    outcome, chance = Outcome(kills=kills), random.Random(f"{seed}/kills")
    buyers = Customers(address_of(shop, VICTIMS[0]), journal, count=customers, seed=seed)
    victims = [process for service in VICTIMS for process in processes_of(shop, service)]
    interrupted: Counter[str] = Counter()
    store = shop.database.admin_url_of(TRIAL_DATABASE)

    def look(victim: str) -> None:
        driven = count_unfinished(store, victim)
        interrupted.update(driven)
        outcome.kills_in_saga += bool(driven)

    def strikes() -> Iterator[None]:
        for _ in range(kills):
            _wait_for_trade(buyers)
            time.sleep(chance.uniform(*LIFE_S))
            victim, killed = chance.choice(victims), time.monotonic()
            kill(shop, victim, partial(look, victim))
            outcome.restart_s += (time.monotonic() - killed) / kills
            yield

    with outcome.measure(shop):
        if not crowd.strike(buyers.run, strikes(), progress, limit_s=3 * ANSWER_LIMIT_S, stop=buyers.stop):
            raise RuntimeError("the customers did not finish in time")
        outcome.recovery_s, left = wait_until_settled(store)
        bought = read_acknowledged(journal)
        outcome.findings = audit(shop.database.admin_url, TRIAL_DATABASE, acknowledged=bought, grace_s=LIMIT_S)
    outcome.interrupted, outcome.left = dict(sorted(interrupted.items())), dict(left)
    outcome.customers = dict(sorted(buyers.seen.items()))
    outcome.unanswered, outcome.wrong = buyers.unanswered, buyers.wrong
    return outcome


def _wait_for_trade(customers: Customers) -> None:
    """Waits until a customer gets a new answer; gives up after a while, because a kill may come at any time."""
    before, give_up_at = customers.answers, time.monotonic() + TRADE_LIMIT_S
    while customers.answers == before and time.monotonic() < give_up_at:
        time.sleep(0.001)


@proves("prove-sagas")
def prove_sagas(
    *,
    kills: Annotated[int, typer.Option(min=1)],
    switches: Given,
    customers: Annotated[int, typer.Option(min=1)],
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Kill order and notification at random moments of checkouts, then audit. Exit code 3 if something is wrong."""
    with new_shop(load_ports(os.environ), replicas=switches["replicas"] or "") as shop:
        journal = shop.folder.path / "sagas.jsonl"
        outcome = with_progress(
            "Kills",
            kills,
            lambda step: run_kills(shop, journal, kills=kills, customers=customers, seed=seed, progress=step),
        )
    outcome.give(as_json=as_json)
