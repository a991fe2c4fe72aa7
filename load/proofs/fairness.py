"""`make prove-fairness`, `python -m proofs.fairness`: exit code 1 if an attack starves other clients."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from typing import Annotated, Any, TypeAlias

import psutil
import typer

from mesh.components.keys import key_pair
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.errors import InputError
from mesh.native.system import System
from mesh.resting import cpu_seconds, pids_of, wait_for_rest
from mesh.supervisor.reporting import reported
from proofs.attacks import (
    ATTACKS,
    CLIENTS,
    PROBES,
    Target,
    Window,
    attack,
    buy_large_orders,
    probe,
    sign_up,
    use,
    warm_up,
)
from shop.platform.access.jwt import Principal, TokenSigner

FIRST_USER = 8_001
"""The first of the seed's users who may buy; each client is another user, and the probe has the next users."""
CATEGORIES = [f"c{number:04d}" for number in range(100)]
"""The seed's categories."""
RATE, LOGIN_RATE = 10.0, 2.5
"""Requests per second of the probe, and logins per second."""
LEAD_S = 1.0
"""Seconds of hostile or valid requests before the probe begins."""
WARM_S = 0.5
REST_CORES, MAX_REST_S = 0.2, 60.0
"""The shop has come to rest when it uses fewer cores than `REST_CORES`; the next window waits up to `MAX_REST_S`."""
ALONE, ATTACKED, VALID = "alone", "attacked", "valid clients"
TOLERANCE = 0.02
"""Tolerated drop of the served share during an attack, compared with valid clients."""

_Others: TypeAlias = Callable[[Target, float], Mapping[str, int]]
"""Uses the shop during a window, until a moment; counts the results of its requests."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass
class Figures:
    """Results of the probe in all windows of one kind.

    Attributes:
        asked: Requests sent.
        served: Requests answered in full.
        p50_ms: Median latency of served requests, in ms; None if no request was served.
        p99_ms: 99th percentile of these latencies.
        cpu_s: CPU seconds that the shop used during the probe.
        wall_s: Length of the probe, in seconds.
        peak_mb: Largest resident memory of a component after a window, in MiB.
        busy_s: Longest time after a window until the shop had come to rest, in seconds.
        refused: Number of the probe's unserved requests, by result.
        sent: Number of the other clients' requests, by result.
    """

    asked: int = 0
    served: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_mb: float = 0.0
    busy_s: float = 0.0
    refused: Mapping[str, int] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)

    @property
    def cores(self) -> float:
        """CPU seconds that the shop used per second."""
        return self.cpu_s / self.wall_s if self.wall_s else 0.0

    @property
    def share(self) -> float:
        """The share of the probe's requests that were served."""
        return self.served / self.asked if self.asked else 0.0


@dataclass
class Outcome:
    """Effect of an attack on others, compared with no other clients and with valid clients.

    Attributes:
        attack: Name of the attack.
        windows: Figures by kind of window.
    """

    attack: str
    windows: Mapping[str, Figures]

    @property
    def holds(self) -> bool:
        """Whether others fare no worse during the attack than with valid clients."""
        return self.windows[ATTACKED].share >= self.windows[VALID].share - TOLERANCE

    def as_dict(self) -> dict[str, Any]:
        """Returns the outcome for programs."""
        windows = {
            name: {**vars(figures), "share": figures.share, "cores": figures.cores}
            for name, figures in self.windows.items()
        }
        return {"attack": self.attack, "holds": self.holds, "windows": windows}


@app.command()
@takes_settings("prove-fairness")
def prove(
    *,
    topology: str,
    attacks: str,
    seconds: Annotated[int, typer.Option(min=2, max=600)],
    rounds: Annotated[int, typer.Option(min=1, max=100)],
    switches: Given,
    as_json: Json = False,
) -> None:
    """Attack the shop with 16 hostile clients, and count the served requests of others.

    Exit code 1 if fewer requests are served during an attack than with 16 valid clients that use as much CPU.
    """
    with reported():
        chosen = attacks_of(attacks)
        attacked = load_topology(topology, updates="on")
        if len(attacked.gateways) < 2:
            raise InputError(f"topology={topology} has no REST and GraphQL gateways to attack; valid: hybrid")
        given = parse_switches(updates="on", trace=0, **{name: value for name, value in switches.items() if value})
        ports = load_ports(os.environ)
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
                    progress=_say,
                )
                for name in chosen
            ]
        _say("")
    if as_json:
        typer.echo(json.dumps([outcome.as_dict() for outcome in outcomes], indent=2))
    else:
        _print(outcomes)
    raise SystemExit(0 if all(outcome.holds for outcome in outcomes) else 1)


def attacks_of(given: str) -> Sequence[str]:
    """Reads comma-separated names of attacks.

    Raises:
        InputError: An attack is unknown.
    """
    chosen = [name.strip() for name in given.split(",")]
    if unknown := [name for name in chosen if name not in ATTACKS]:
        raise InputError(f"attacks={given}: {', '.join(unknown) or 'nothing'} is unknown; valid: {', '.join(ATTACKS)}")
    return chosen


def _target(system: System) -> Target:
    signer = TokenSigner(key_pair(system.folder).private.read_bytes())
    users = range(FIRST_USER, FIRST_USER + CLIENTS + PROBES)
    target = Target(
        url=system.url,
        tokens=[signer.sign(Principal("customer", user)) for user in users],
        users=users,
        partner=signer.sign(Principal("partner", 1)),
        categories=CATEGORIES,
    )
    return replace(target, orders=buy_large_orders(target), email=sign_up(target))


def _measure_attack(
    name: str,
    new_system: Callable[[], System],
    pool: Executor,
    *,
    seconds: float,
    rounds: int,
    progress: Callable[[str], None],
) -> Outcome:
    probed: dict[str, list[Window]] = {ALONE: [], ATTACKED: [], VALID: []}
    windows = {kind: Figures() for kind in probed}
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
                    window = _window(system, target, others, pool, windows[kind], seconds, on_logins=on_logins)
                    probed[kind].append(window)
    for kind, seen in probed.items():
        figures = windows[kind]
        latencies = sorted(each for window in seen for each in window.latencies_ms)
        figures.asked, figures.served = (sum(getattr(window, what) for window in seen) for what in ("asked", "served"))
        if len(latencies) > 1:
            percentiles = statistics.quantiles(latencies, n=100, method="inclusive")
            figures.p50_ms, figures.p99_ms = percentiles[49], percentiles[98]
        for window in seen:
            figures.refused = _sum(figures.refused, window.refused)
    return Outcome(name, windows)


def _window(
    system: System,
    target: Target,
    others: _Others | None,
    pool: Executor,
    figures: Figures,
    seconds: float,
    *,
    on_logins: bool,
) -> Window:
    """Probes a shop once while others use it, and adds everything but the latencies to the figures."""
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
    if beside is not None:
        figures.sent = _sum(figures.sent, beside.result())
    figures.peak_mb = max(figures.peak_mb, _largest_mb(pids))
    figures.busy_s = max(figures.busy_s, wait_for_rest(system, REST_CORES, MAX_REST_S))
    return window


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _largest_mb(pids: Sequence[int]) -> float:
    sizes = [0]
    for pid in pids:
        # The database's process for a connection ends with the connection.
        with suppress(psutil.NoSuchProcess):
            sizes.append(psutil.Process(pid).memory_info().rss)
    return max(sizes) / (1 << 20)


def _say(what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)
    elif what:
        print(what, file=sys.stderr, flush=True)


def _print(outcomes: Sequence[Outcome]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False, width=None if sys.stdout.isatty() else 130)
    table = Table(title=f"Requests of others next to {CLIENTS} hostile clients", title_justify="left")
    for heading in ("attack", "next to"):
        table.add_column(heading)
    for heading in ("served", "of", "p50 ms", "p99 ms", "cores", "largest MiB", "busy after s"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for outcome in outcomes:
        for kind, figures in outcome.windows.items():
            percentiles = ["" if ms is None else f"{ms:,.0f}" for ms in (figures.p50_ms, figures.p99_ms)]
            table.add_row(
                outcome.attack if kind == ALONE else "",
                kind,
                f"{figures.served:,}",
                f"{figures.asked:,}",
                *percentiles,
                f"{figures.cores:.2f}",
                f"{figures.peak_mb:,.0f}",
                f"{figures.busy_s:.1f}",
                ("holds" if outcome.holds else "FAILS") if kind == ATTACKED else "",
            )
    console.print(table)
    for outcome in outcomes:
        figures = outcome.windows[ATTACKED]
        became = ", ".join(f"{count:,} {name}" for name, count in sorted(figures.sent.items()))
        console.print(f"{outcome.attack}: {ATTACKS[outcome.attack].about}. Hostile requests: {became or 'none'}.")
        if figures.refused:
            others = ", ".join(f"{count:,} {name}" for name, count in sorted(figures.refused.items()))
            console.print(f"  Others got instead of an answer: {others}.")


if __name__ == "__main__":
    app()
