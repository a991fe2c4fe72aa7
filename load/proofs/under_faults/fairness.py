"""`make prove-fairness`, `python -m proofs fairness`: exit code 1 if an attack starves other clients."""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Annotated, Any, TypeAlias

import psutil
import typer

from experiment.arguments import choices
from experiment.progress import Progress
from hops.elements.element import Points
from hops.elements.table import Cell, Column, Table, whole, words
from mesh.components.keys import key_pair
from mesh.description.options import Given, Json
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.errors import InputError
from mesh.native.system import System
from mesh.resting import cpu_seconds, pids_of, wait_for_rest
from proofs.outcome import give, proves
from proofs.under_faults.attacks import ATTACKS, CLIENTS, PROBES, Target, Window, attack, prepare, probe, use, warm_up
from shop.platform.access.jwt import Principal, TokenSigner

FIRST_USER = 8_001
"""The first seeded user who may buy. Each client is a different user; the probe uses the users after them."""
CATEGORIES = [f"c{number:04d}" for number in range(100)]
"""The seed's categories."""
RATE, LOGIN_RATE = 10.0, 2.5
"""Requests per second of the probe, and logins per second."""
LEAD_S = 1.0
"""Seconds of hostile or legitimate requests before the probe begins."""
WARM_S = 0.5
REST_CORES, MAX_REST_S = 0.2, 60.0
"""The shop has come to rest when it uses fewer cores than `REST_CORES`; the next window waits up to `MAX_REST_S`."""
ALONE, ATTACKED, VALID = "alone", "attacked", "valid clients"
TOLERANCE = 0.02
"""Tolerated drop of the served share during an attack, compared with legitimate clients."""
MIN_ALONE = 0.95
"""Minimum share of the probe's requests that the shop must serve while nobody else uses it."""

_Others: TypeAlias = Callable[[Target, float], Mapping[str, int]]
"""Uses the shop during a window, until a given moment; counts the results of its requests."""


@dataclass
class Figures(Window):
    """Results of the probe in all windows of one kind.

    Attributes:
        cpu_s: CPU seconds that the shop used during the probe.
        wall_s: Length of the probe, in seconds.
        peak_mb: Largest resident memory of any component after a window, in MiB.
        busy_s: Longest time from the end of a window until the shop had come to rest, in seconds.
        sent: Number of the other clients' requests, by result.
    """

    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_mb: float = 0.0
    busy_s: float = 0.0
    sent: Counter[str] = field(default_factory=Counter)

    @property
    def cores(self) -> float:
        return self.cpu_s / self.wall_s if self.wall_s else 0.0

    @property
    def percentiles_ms(self) -> dict[str, float | None]:
        """The median and the 99th percentile of the latencies; None if hardly any request was served."""
        if len(self.latencies_ms) < 2:
            return {"p50_ms": None, "p99_ms": None}
        percentiles = statistics.quantiles(self.latencies_ms, n=100, method="inclusive")
        return {"p50_ms": percentiles[49], "p99_ms": percentiles[98]}

    @property
    def share(self) -> float:
        return self.served / self.asked if self.asked else 0.0


@dataclass
class Outcome:
    """Effect of an attack on the probe, compared with no other clients and with legitimate clients."""

    attack: str
    windows: Mapping[str, Figures]

    @property
    def holds(self) -> bool:
        """Whether the probe is served alone, and fares no worse during the attack than with legitimate clients.

        A shop that serves nobody would treat all clients alike, and so would an attack that never met the shop.
        """
        is_served = self.windows[ALONE].share >= MIN_ALONE
        is_harmless = self.windows[ATTACKED].share >= self.windows[VALID].share - TOLERANCE
        return is_served and self.meets_shop and is_harmless

    @property
    def meets_shop(self) -> bool:
        return any(self.windows[ATTACKED].sent[result] for result in ATTACKS[self.attack].meets)

    def as_dict(self) -> dict[str, Any]:
        windows = {}
        for name, figures in self.windows.items():
            counted = {what: value for what, value in vars(figures).items() if what != "latencies_ms"}
            windows[name] = counted | figures.percentiles_ms | {"share": figures.share, "cores": figures.cores}
        return {"attack": self.attack, "holds": self.holds, "windows": windows}


def _target(system: System) -> Target:
    signer = TokenSigner(key_pair(system.folder.keys).private.read_bytes())
    users = range(FIRST_USER, FIRST_USER + CLIENTS + PROBES)
    target = Target(
        url=system.url,
        tokens=[signer.sign(Principal("customer", user)) for user in users],
        users=users,
        partner=signer.sign(Principal("partner", 1)),
        categories=CATEGORIES,
    )
    return prepare(target)


def _measure_attack(
    name: str, new_system: Callable[[], System], pool: Executor, *, seconds: float, rounds: int, progress: Progress
) -> Outcome:
    windows = {kind: Figures() for kind in (ALONE, ATTACKED, VALID)}
    for number in range(rounds):
        # An attack may leave a shop busy or out of memory, so each attack gets a new shop.
        for kinds in ((ALONE, ATTACKED), (VALID,)):
            progress(f"{name}: starting the shop")
            with new_system() as system:
                target = _target(system)
                for kind in kinds:
                    progress(f"{name}: {kind}, round {number + 1} of {rounds}")
                    others: _Others | None = None
                    if kind == ATTACKED:
                        others = partial(attack, name)
                    elif kind == VALID:
                        others = partial(use, pids_of(system), windows[ATTACKED].cores)
                    on_logins = ATTACKS[name].on_logins
                    _add_window(system, target, others, pool, windows[kind], seconds, on_logins=on_logins)
    return Outcome(name, windows)


def _add_window(
    system: System,
    target: Target,
    others: _Others | None,
    pool: Executor,
    figures: Figures,
    seconds: float,
    *,
    on_logins: bool,
) -> None:
    """Probes a shop once while others use it, and adds the results to the figures."""
    system.check()
    pids = pids_of(system)
    begins = time.monotonic() + LEAD_S
    beside = None if others is None else pool.submit(others, target, begins + seconds)
    time.sleep(LEAD_S)
    used, began = cpu_seconds(pids), time.monotonic()
    rate = LOGIN_RATE if on_logins else RATE
    window = pool.submit(probe, target, begins, int(seconds * rate), rate, on_logins).result()
    figures.cpu_s += cpu_seconds(pids) - used
    figures.wall_s += time.monotonic() - began
    figures.asked += window.asked
    figures.served += window.served
    figures.latencies_ms += window.latencies_ms
    figures.refused.update(window.refused)
    if beside is not None:
        figures.sent.update(beside.result())
    figures.peak_mb = max(figures.peak_mb, _largest_mb(pids))
    figures.busy_s = max(figures.busy_s, wait_for_rest(system, REST_CORES, MAX_REST_S))


def _largest_mb(pids: Sequence[int]) -> float:
    sizes = [0]
    for pid in pids:
        # The database's process for a connection ends when the connection closes.
        with suppress(psutil.NoSuchProcess):
            sizes.append(psutil.Process(pid).memory_info().rss)
    return max(sizes) / (1 << 20)


def _table(outcomes: Sequence[Outcome]) -> Table:
    columns = [Column(name, numeric=False) for name in ("attack", "next to")]
    columns += [Column("served"), Column("of"), Column("p50", "ms"), Column("p99", "ms"), Column("cores", spare=1)]
    columns += [Column("largest", "MiB", spare=1), Column("busy after", "s", spare=1), Column("verdict", numeric=False)]
    rows = [
        [
            words(outcome.attack),
            words(kind),
            whole(figures.served),
            whole(figures.asked),
            *(Cell("" if ms is None else f"{ms:,.0f}") for ms in figures.percentiles_ms.values()),
            Cell(f"{figures.cores:.2f}"),
            Cell(f"{figures.peak_mb:,.0f}"),
            Cell(f"{figures.busy_s:.1f}"),
            words(("holds" if outcome.holds else "FAILS") if kind == ATTACKED else ""),
        ]
        for outcome in outcomes
        for kind, figures in outcome.windows.items()
    ]
    return Table("fairness", f"Others' requests with and without {CLIENTS} hostile clients", columns, rows, heads=2)


def _sentence(outcome: Outcome) -> str:
    figures = outcome.windows[ATTACKED]
    sent, refused = (
        ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
        for counts in (figures.sent, figures.refused)
    )
    others = f" Failures of other clients' requests: {refused}." if refused else ""
    missed = "" if outcome.meets_shop else " The attack never met the shop, so nothing was compared."
    return f"{outcome.attack}: {ATTACKS[outcome.attack].about}. Hostile requests: {sent or 'none'}.{missed}{others}"


@proves("prove-fairness")
def prove_fairness(
    *,
    topology: str,
    attacks: str,
    seconds: Annotated[int, typer.Option(min=2, max=600)],
    rounds: Annotated[int, typer.Option(min=1, max=100)],
    switches: Given,
    as_json: Json = False,
) -> None:
    """Attack the shop with 16 hostile clients, and count the served requests of others.

    Exit code 1 if fewer requests are served during an attack than with 16 valid clients that use as much CPU, or if
    requests also fail without other clients.
    """
    chosen = choices("attacks", attacks, ATTACKS)
    attacked = load_topology(topology, updates="on")
    if len(attacked.gateways) < 2:
        raise InputError(f"topology={topology} has no REST and GraphQL gateways to attack; valid: hybrid")
    given = parse_switches(updates="on", trace=0, **{name: value for name, value in switches.items() if value})
    if not given.has_edge:
        raise InputError("edge=none: only an edge leads to both gateways at one address; valid: envoy, kong")
    ports, progress = load_ports(os.environ), Progress(brief=True)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        # Both processes import their modules before the first window.
        for started in [pool.submit(warm_up, WARM_S) for _ in range(2)]:
            started.result()
        outcomes = [
            _measure_attack(
                name,
                lambda: System(attacked, given, ports, "fairness"),
                pool,
                seconds=seconds,
                rounds=rounds,
                progress=progress,
            )
            for name in chosen
        ]
    progress.clear()
    document = {
        "holds": all(outcome.holds for outcome in outcomes),
        "rows": [outcome.as_dict() for outcome in outcomes],
    }
    give(document, [_table(outcomes), Points([_sentence(outcome) for outcome in outcomes])], as_json=as_json)
