"""`make prove-sagas`, `python -m proofs.sagas`: kills and restarts services, then waits for recovery and audits."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dataset.acknowledged import read_acknowledged
from dataset.audit import Finding, audit, print_table
from experiment.commands.options import end, in_ci
from experiment.faults.processes import kill
from experiment.faults.settling import LIMIT_S, count_unfinished, wait_until_settled
from experiment.trial.resources import OtherWork
from hops.gates.trial import audit_verdict
from hops.run.documents.gate import NOISY, Verdict
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.errors import SwitchError
from mesh.paths import RunFolder
from mesh.supervisor.reporting import reported
from proofs.crowd import Crowd
from proofs.customers import ANSWER_LIMIT_S, Customers
from proofs.struck_shop import TOPOLOGY, Shop

VICTIMS = ("order", "notification")
"""The services whose processes are killed. Customers buy from the first; the second must lose no update."""
LIFE_S = (0.0, 0.3)
"""Range of a victim's life after customers buy from it again, in seconds."""
TRADE_LIMIT_S = 5.0
"""Maximum wait for a purchase, in seconds: customers pause before they reconnect."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of the kill test.

    Attributes:
        kills: Number of times that a process of order or notification was killed with SIGKILL.
        wall_s: Duration of the test, in seconds.
        restart_s: Mean time from a kill until the process answered again, in seconds.
        interrupted: Sagas that a process drove at the moment it was killed, by kind, summed over all kills.
        kills_in_saga: Number of kills that left at least one saga unfinished.
        customers: Number of events that the customers saw, by kind.
        recovery_s: Time from the customers' last answer until no saga was under way and all updates were delivered, in
            seconds.
        left: Sagas that were still under way after that, by kind, and undelivered updates; empty if all went well.
        unanswered: Calls without an answer despite repetitions.
        other_cores: Cores that other programs used meanwhile.
        wrong: Answers that no customer should have got.
        findings: The audit's findings.
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
        """The verdict of `audit_verdict`."""
        broken = len(self.wrong) + sum(not finding.ok for finding in self.findings)
        return audit_verdict(broken, self.unanswered, sum(self.left.values()), self.other_cores)

    def as_dict(self) -> dict[str, Any]:
        """Returns the outcome for programs."""
        return {"verdict": self.verdict, **asdict(self)}


def run_kills(
    shop: Shop, journal: Path, *, kills: int, customers: int, seed: int, progress: Callable[[int], None]
) -> Outcome:
    """Kills a replica of a running shop's order or notification service at random moments while customers check out.

    Must be called from the thread that started the shop.

    Args:
        shop: The running shop.
        journal: File for acknowledged checkouts.
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
    """Waits until a customer gets a new answer; gives up after a while, because a kill may come at any time."""
    before, give_up_at = customers.answers, time.monotonic() + TRADE_LIMIT_S
    while customers.answers == before and time.monotonic() < give_up_at:
        time.sleep(0.001)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@takes_settings("prove-sagas")
def prove(
    *,
    kills: Annotated[int, typer.Option(min=1)],
    switches: Given,
    customers: Annotated[int, typer.Option(min=1)],
    seed: Annotated[int, typer.Option(min=0)],
    as_json: Json = False,
) -> None:
    """Kill order and notification at random moments of checkouts, then audit. Exit code 3 if something is wrong."""
    with reported():
        ports = replace(load_ports(os.environ), replicas=replicas(switches["replicas"] or ""))
        folder = RunFolder.of(ports.base)
        with Shop(ports, folder) as shop:
            outcome = run_kills(
                shop,
                folder.path / "sagas.jsonl",
                kills=kills,
                customers=customers,
                seed=seed,
                progress=lambda number: print(f"\rkilled {number} of {kills}", end="", file=sys.stderr),
            )
            print(file=sys.stderr)
    if as_json:
        typer.echo(json.dumps(outcome.as_dict(), indent=2))
    else:
        _print(outcome)
    end(outcome.verdict, strict=in_ci())


def replicas(given: str) -> Mapping[str, int]:
    """Reads how many replicas each service has.

    Raises:
        SwitchError: A number is invalid, or a named service does not run here.
    """
    counts = parse_switches(replicas=given).replicas
    if idle := sorted(set(counts) - set(TOPOLOGY.services)):
        raise SwitchError(
            f"replicas={given}: the kill test does not run {' and '.join(idle)}; it runs "
            f"{', '.join(TOPOLOGY.services)}."
        )
    return counts


def _print(outcome: Outcome) -> None:
    print(
        f"{outcome.kills} kills in {outcome.wall_s:.0f} s, {outcome.restart_s:.2f} s on average until it answered again"
    )
    print(f"{outcome.kills_in_saga} kills interrupted {sum(outcome.interrupted.values())} sagas:")
    for what, count in outcome.interrupted.items():
        print(f"  {count:6,} {what}")
    print("what the customers saw:")
    for what, count in outcome.customers.items():
        print(f"  {count:6,} {what}")
    print(f"waited {outcome.recovery_s:.1f} s after the last restart for interrupted sagas to end")
    for what, count in outcome.left.items():
        print(f"  STILL UNDER WAY: {count} {what}")
    for what in outcome.wrong:
        print(f"  WRONG: {what}")
    if outcome.unanswered:
        print(
            f"  {outcome.unanswered} calls were repeated in vain for {ANSWER_LIMIT_S:g} s; other programs used "
            f"{outcome.other_cores:.1f} cores"
        )
    if outcome.verdict == NOISY:
        print("NOT SHOWN: the machine was busy, and nothing was lost. Repeat it while the machine is idle.")
    print_table("the shop after the kills", outcome.findings)


if __name__ == "__main__":
    app()
