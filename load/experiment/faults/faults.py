"""The faults: which components of a topology a fault can strike, and how it does so."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass

import psycopg
from psycopg import sql

from experiment.errors import UsageError
from experiment.faults.certificates import expire, holders
from experiment.faults.clock import no_faketime, prepare_clock_step
from experiment.faults.cluster import (
    drain_longer_s,
    eviction_longer_s,
    lacks_right,
    prepare_drain,
    prepare_eviction,
    serving,
)
from experiment.faults.disk import VOLUMES, no_volumes, on_small_volume
from experiment.faults.links import link_fault, links_of, no_toxiproxy
from experiment.faults.processes import freeze, kill
from experiment.faults.strike import LASTS_S, Around, Strike, Wait
from mesh.components.postgres import POSTGRES
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.components.valkey import VALKEY
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology
from mesh.native.system import System

JAEGER, ISTIOD = "jaeger", "istiod"
SHOP = "shop"
"""Target of a fault that strikes every component that serves customers."""
LIFE_S = 0.4
"""Maximum time between two crashes."""
ROLLING_S = 8.0
"""How long one restart in a rolling restart may take, including the wait after it; the edge may take twice as long."""
LEAVE_S, READY_S = 1, 3.0
"""In a rolling restart, how long clients have to leave a stopping component, and how long a restarted component must
have been ready before the next restart. Callers check only at intervals whether the component is back."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault.

    Attributes:
        lacks: Returns what this machine or user lacks for the fault; empty if nothing is missing.
        longer_s: Returns by how many seconds the load must be longer so that a fault at a target ends during the load.
        in_cluster: Whether the fault strikes pods of a cluster instead of processes on this machine.
    """

    targets: Callable[[Topology, Switches], Sequence[str]]
    around: Around
    lacks: Callable[[], str] = lambda: ""
    longer_s: Callable[[Topology, Switches, str], float] = lambda _topology, _switches, _target: 0.0
    in_cluster: bool = False

    def require(self, name: str) -> None:
        """Raises UsageError if the fault, under the name that the user gave, is not possible here."""
        if lacking := self.lacks():
            raise UsageError(f"faults={name} needs {lacking}; otherwise leave out this fault")


def parts_of(topology: Topology, switches: Switches) -> list[str]:
    """Returns every component that runs, including the database and the trace store."""
    meshed = [f"{name}-sidecar" for name in (*topology.components, EDGE)] if switches.meshed else []
    edge = [EDGE] if switches.has_edge else []
    stores = [*([VALKEY] if switches.cache != "none" else []), POSTGRES, JAEGER]
    return [*topology.components, *edge, *meshed, *([ISTIOD] if switches.mesh == "istio" else []), *stores]


def _plain(strike: Callable[[System, str, Wait], None]) -> Around:
    return lambda system, target: nullcontext((system, lambda wait: strike(system, target, wait)))


def _crash(system: System, target: str, wait: Wait) -> None:
    chance, until = random.Random(target), time.monotonic() + 2 * LASTS_S
    while time.monotonic() < until:
        kill(system, target)
        wait(chance.uniform(0, LIFE_S))


@contextmanager
def _rolling(system: System, target: str) -> Iterator[tuple[System, Strike]]:
    # As in a cluster, a stopping component first gives its clients time to leave.
    ours = system.with_settings({name: {"SHOP_DRAIN_S": f"{LEAVE_S}"} for name in system.topology.components})

    def strike(wait: Wait) -> None:
        stores = (ISTIOD, POSTGRES, VALKEY, JAEGER)
        for name in [name for name in ours.processes() if name not in stores and target in (SHOP, name)]:
            ours.hand_over(name)
            wait(READY_S)

    yield ours, strike


def _rolling_longer_s(topology: Topology, switches: Switches, target: str) -> float:
    components = topology.components if target == SHOP else ()
    processes = sum(switches.replicas.get(name, 1) for name in components) * (2 if switches.meshed else 1)
    return ROLLING_S * (processes + (3 if switches.meshed else 2) * switches.has_edge)


def _lock(system: System, target: str, wait: Wait) -> None:
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
    schema = f"shop_{target}"
    with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=5) as connection:
        for (table,) in connection.execute(tables, [schema]).fetchall():
            connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(schema, table)))
        wait(LASTS_S)
        connection.rollback()


def _refuse_writes(system: System, _: str, wait: Wait) -> None:
    with closing(psycopg.connect(system.database.admin_url, autocommit=True, connect_timeout=5)) as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
        try:
            wait(LASTS_S)
        finally:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")


def _services(topology: Topology, _: Switches) -> Sequence[str]:
    return topology.services


FAULTS = {
    "kill": Fault(parts_of, _plain(lambda system, target, _: kill(system, target))),
    "freeze": Fault(parts_of, _plain(freeze)),
    "crash": Fault(_services, _plain(_crash)),
    "cut": Fault(links_of, link_fault("timeout", {"timeout": 0}), no_toxiproxy),
    "reset": Fault(links_of, link_fault("reset_peer", {"timeout": 0}), no_toxiproxy),
    "slow": Fault(links_of, link_fault("latency", {"latency": 500, "jitter": 100}), no_toxiproxy),
    "pool": Fault(_services, _plain(_lock)),
    "restart": Fault(
        lambda _, switches: [*([EDGE] if switches.has_edge else []), POSTGRES],
        _plain(lambda system, target, _: system.restart(target)),
    ),
    "readonly": Fault(lambda _topology, _switches: [POSTGRES], _plain(_refuse_writes)),
    "expire": Fault(holders, _plain(expire)),
    "clock": Fault(_services, prepare_clock_step, no_faketime),
    "disk-full": Fault(
        lambda _, switches: [*VOLUMES] if switches.store == "postgres" else [], on_small_volume, no_volumes
    ),
    "rolling": Fault(
        lambda _, switches: [SHOP, *([EDGE] if switches.has_edge else [])], _rolling, longer_s=_rolling_longer_s
    ),
    "evict": Fault(
        serving,
        prepare_eviction,
        lacks_right("create", "pods", "--subresource=eviction"),
        eviction_longer_s,
        in_cluster=True,
    ),
    "drain": Fault(
        lambda _topology, _switches: [SHOP],
        prepare_drain,
        lacks_right("patch", "nodes"),
        drain_longer_s,
        in_cluster=True,
    ),
}
"""The kinds of faults, which `docs/experiments/faults.md` describes."""


@dataclass(frozen=True, slots=True)
class TargetedFault:
    """A fault at a target, written as in `kill:order`."""

    kind: str
    target: str

    @classmethod
    def parse(cls, name: str) -> TargetedFault:
        kind, _, target = name.partition(":")
        return cls(kind, target)

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}"


def possible(topology: Topology, switches: Switches) -> list[TargetedFault]:
    """Returns every fault that a topology with these switches can have."""
    return [
        TargetedFault(kind, target)
        for kind in kinds(in_cluster=switches.in_cluster)
        for target in FAULTS[kind].targets(topology, switches)
    ]


def kinds(*, in_cluster: bool) -> list[str]:
    """Returns the kinds of faults for a run on this machine, or in a cluster."""
    return [kind for kind, fault in FAULTS.items() if fault.in_cluster == in_cluster]


def parse_faults(given: str, topologies: Sequence[Topology], switches: Switches) -> dict[str, list[TargetedFault]]:
    """Reads which faults strike each topology: by topology name, in the order of `FAULTS`.

    Args:
        given: Comma-separated kinds (`kill`), kinds at a target (`kill:order`), or `all` without impossible ones.

    Raises:
        UsageError: A fault is unknown or impossible here, or no topology has its target. The message lists valid faults
            or targets.
    """
    has = {topology.name: possible(topology, switches) for topology in topologies}
    every = {str(one) for of in has.values() for one in of}
    parts, valid = [part.strip() for part in given.split(",")], kinds(in_cluster=switches.in_cluster)
    for part in (part for part in parts if part != "all"):
        kind, colon, target = part.partition(":")
        if kind not in valid:
            raise UsageError(f"faults={given}: {_why_not(kind, part)}; valid: all, {', '.join(valid)}")
        if not any(one == part or (not colon and one.startswith(f"{kind}:")) for one in every):
            targets = sorted(one.partition(":")[2] for one in every if one.startswith(f"{kind}:"))
            raise UsageError(
                f"faults={given}: {kind} has no target {target!r} here; its targets: {', '.join(targets) or 'none'}"
            )
        FAULTS[kind].require(part)
    left_out = unavailable(in_cluster=switches.in_cluster) if "all" in parts else {}
    return {
        name: [
            one for one in of if one.kind in parts or str(one) in parts or ("all" in parts and one.kind not in left_out)
        ]
        for name, of in has.items()
    }


def _why_not(kind: str, part: str) -> str:
    if kind not in FAULTS:
        return f"{part!r} is unknown"
    strikes = "pods, which need runtime=kubernetes" if FAULTS[kind].in_cluster else "processes on this machine"
    return f"{kind} can only strike {strikes}"


def unavailable(*, in_cluster: bool) -> dict[str, str]:
    """Returns the kinds of faults that are impossible here or in the current cluster, and what each needs."""
    return {kind: needed for kind in kinds(in_cluster=in_cluster) if (needed := FAULTS[kind].lacks())}
