"""Measures how much the event loops' account of busy times slows answers, by turning it on and off in short slots.

Users in a closed loop load one shop. In each pair of neighbouring slots, the account is on in one slot and off in the
other, in random order, in all of the shop's processes at once. Other work on the machine disturbs both slots alike, or
one of them at random. A switch in shared memory turns the account on and off; the shop's code is unchanged.
"""

from __future__ import annotations

import mmap
import os
import random
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy import special

from experiment.arguments import checked_seed, whole_number
from experiment.errors import UsageError
from experiment.generator.shopload import BINARY, Load, Shopload
from experiment.generator.tapes import parity_tape
from experiment.parity.answers import check_answers
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.workload import workload_file
from experiment.trial.sender import LocalSender
from hops.elements.table import Column, Table, table_of, whole, words
from hops.run.rows import read_rows
from hops.statistics.intervals import CONFIDENCE
from mesh.description.options import Json
from mesh.description.ports import Ports, load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import Topology, load_topology
from mesh.native.system import System
from proofs.outcome import give, proves
from proofs.statistics.cells import show_percent

SLOT_S = 0.3
MIN_PAIRS, MAX_PAIRS = 10, 10_000
USERS = 2
LIMIT = 0.01
"""Maximum share by which the account may lengthen an answer's time."""
_WARMUP_S = 10.0
_SWITCHED = """
import mmap, os
from recording.loop import LoopAccount

switch = mmap.mmap(os.open(os.environ["SHOP_ACCOUNT_SWITCH"], os.O_RDWR), 3)
noting = LoopAccount.busy

def busy(self):
    on = switch[0]
    switch[1 + on] = 1
    return noting(self) if on else None

LoopAccount.busy = busy
"""
"""Module that each component loads before anything else. The switch's other bytes say that it was seen off and on."""


@dataclass(frozen=True, slots=True)
class AccountCost:
    """Cost of the account, as a share of the time without it; 95 % intervals over pairs of slots.

    Attributes:
        p50: Cost from the slots' medians, with each journey's latency as a multiple of its kind's median.
    """

    topology: str
    journeys: int
    pairs: int
    p50: float
    p50_ci95: tuple[float, float]
    mean: float
    mean_ci95: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether the measurement shows that the account adds at most `LIMIT` to p50."""
        return self.p50_ci95[1] <= LIMIT


def measure(topology: Topology, ports: Ports, folder: Path, *, pairs: int, seed: int) -> AccountCost:
    """Measures one topology, with files in an empty folder; the seed is for the tape and the order of slots.

    Raises MeshError if a component did not start or died, GeneratorError if the generator failed, and UsageError if the
    switch did not reach the account.
    """
    (folder / "sitecustomize.py").write_text(_SWITCHED)
    switch_file = folder / "switch"
    switch_file.write_bytes(b"\1\0\0")
    settings = {"PYTHONPATH": str(folder), "SHOP_ACCOUNT_SWITCH": str(switch_file)}
    duration_s = _WARMUP_S + 2 * pairs * SLOT_S
    users, shopload, workload = ClosedLoop(USERS, 0.0), Shopload(BINARY), workload_file("default")
    tape = shopload.tape(
        workload, folder / "tape.jsonl", seed=seed, rate=users.tape_rate, duration_s=duration_s, scale=1
    )
    sample = parity_tape(shopload, folder / "parity.jsonl", 2, seed=seed, scale=1)
    load = Load(tape, duration_s, users)
    extra = dict.fromkeys(topology.components, settings)
    with System(topology, parse_switches(), ports, f"account-{topology.name}", extra=extra) as system:
        check_answers(system, shopload, sample, folder / "parity.out")
        slots: list[tuple[int, bool]] = []
        with switch_file.open("r+b") as file, mmap.mmap(file.fileno(), 3) as switch:
            turning = threading.Thread(target=turn_on_and_off, args=(switch, pairs, random.Random(seed), slots))
            turning.start()
            LocalSender(system, shopload).replay(load, folder / "replay")
            turning.join()
    if switch_file.read_bytes()[1:] != b"\1\1":
        raise UsageError(f"the switch did not turn the account of {topology.name} on and off: nothing was compared")
    return cost_of(topology.name, read_rows(folder / "replay" / "journeys.jsonl"), slots)


def turn_on_and_off(switch: mmap.mmap, pairs: int, rng: random.Random, slots: list[tuple[int, bool]]) -> None:
    """Turns the account on and off for each pair of slots, until the load has ended; adds the slots' beginnings."""
    time.sleep(_WARMUP_S)
    for _ in range(pairs):
        for on in rng.sample([True, False], 2):
            if switch.closed:  # the load has ended early
                return
            switch[0] = on
            slots.append((time.time_ns(), on))
            time.sleep(SLOT_S)
    slots.append((time.time_ns(), True))


def cost_of(topology: str, journeys: pl.DataFrame, slots: list[tuple[int, bool]]) -> AccountCost:
    """Computes the account's cost from journeys that began and ended in the same slot.

    `slots` has when each slot began, ns, and whether the account was on; the last entry is the end of the last slot.
    """
    begins = np.array([at for at, _ in slots])
    ok = journeys.filter(pl.col("outcome") == "ok")
    ok = ok.with_columns(share=pl.col("latency_ns") / pl.col("latency_ns").median().over("journey"))
    slot = np.searchsorted(begins, ok["started_ns"].to_numpy(), side="right") - 1
    within = (slot >= 0) & (slot < len(slots) - 1)
    within[within] &= ok["ended_ns"].to_numpy()[within] < begins[slot[within] + 1]
    shares, slot = ok["share"].to_numpy()[within], slot[within]
    of_slot = [shares[slot == number] for number in range(len(slots) - 1)]
    on = [state for _, state in slots[:-1]]
    pairs = [(at, at + 1) if on[at] else (at + 1, at) for at in range(0, len(of_slot), 2)]
    pairs = [(with_it, without) for with_it, without in pairs if of_slot[with_it].size and of_slot[without].size]

    p50, p50_ci95 = _estimate([np.median(of_slot[one]) / np.median(of_slot[other]) for one, other in pairs])
    mean, mean_ci95 = _estimate([of_slot[one].mean() / of_slot[other].mean() for one, other in pairs])
    return AccountCost(topology, shares.size, len(pairs), p50, p50_ci95, mean, mean_ci95)


def _estimate(ratios: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Computes the Hodges-Lehmann estimate of the added share, and its interval from Wilcoxon's signed ranks.

    The order within a pair is random, so the sign of each logarithm is random if the account adds nothing. A disturbed
    slot has no more weight than any other.
    """
    logs = np.log(ratios)
    first, second = np.triu_indices(logs.size)
    means = np.sort((logs[first] + logs[second]) / 2)
    error = np.sqrt(logs.size * (logs.size + 1) * (2 * logs.size + 1) / 24)
    out = max(0, int(means.size / 2 - special.ndtri((1 + CONFIDENCE) / 2) * error))
    low, value, high = np.expm1([means[out], np.median(means), means[-1 - out]])
    return float(value), (float(low), float(high))


def account_table(rows: Sequence[AccountCost]) -> Table:
    return table_of(
        "account",
        "How much the event loops' account of busy times adds to latencies",
        rows,
        [
            (Column("topology", numeric=False), lambda row: words(row.topology)),
            (Column("pairs"), lambda row: whole(row.pairs)),
            (Column("journeys"), lambda row: whole(row.journeys)),
            (Column("adds to p50", "%", interval=True), lambda row: show_percent(row.p50, row.p50_ci95, signed=True)),
            (Column("to the mean", "%", interval=True), lambda row: show_percent(row.mean, row.mean_ci95, signed=True)),
            (
                Column("verdict", numeric=False),
                lambda row: words("at most 1 %" if row.holds else "NOT SHOWN to be at most 1 %"),
            ),
        ],
    )


@proves("prove-account")
def prove_account(*, topologies: str, pairs: str, seed: str, as_json: Json = False) -> None:
    """Turn the event loops' account on and off in a running shop; fails unless p50 is shown to grow by at most 1 %."""
    how_many, number = whole_number("pairs", pairs, MIN_PAIRS, MAX_PAIRS), checked_seed(seed)
    rows = []
    for name in topologies.split(","):
        with tempfile.TemporaryDirectory(prefix="hopwise-account-") as folder:
            topology, ports = load_topology(name), load_ports(os.environ)
            rows.append(measure(topology, ports, Path(folder), pairs=how_many, seed=number))
    document = {"holds": all(row.holds for row in rows), "rows": [asdict(row) for row in rows]}
    give(document, [account_table(rows)], as_json=as_json)
