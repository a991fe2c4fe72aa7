"""`make watch`: how late customers learn of changes of their orders, and what their waiting costs."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import psycopg

from experiment.arguments import ascending, checked_seed, duration_s, number, topologies_of, whole_number
from experiment.commands import in_steps, options
from experiment.commands.in_steps import PARITY_SAMPLES, Setup
from experiment.errors import GeneratorError, UsageError
from experiment.generator.shopload import BINARY, Load, Shopload, Tape, stop
from experiment.generator.tapes import parity_tape
from experiment.plan.arms_in_blocks import DATA_SEED
from experiment.plan.workload import workload_file
from experiment.progress import Progress, minutes
from experiment.results.folder import ResultsFolder
from experiment.results.manifest import manifest_of, now
from experiment.trial.outcome import JOURNEYS, Clock
from experiment.trial.resources import CLIENT, ResourceSampler, memory_mb
from experiment.trial.run import ready
from hops.budget.parts import budgets_of
from hops.conclusions.wording import plural
from hops.kinds.watch.document import Document, Waited
from hops.run.documents import SCHEMA
from hops.run.rows import UPDATES, read_rows
from hops.traces.jaeger import read_traces
from hops.units import NS_PER_MS
from mesh.components.shop_processes import TRIAL_DATABASE, Data
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import Channel
from mesh.native.system import System
from mesh.runtime import Runtime

if TYPE_CHECKING:
    from hops.elements.element import Element
    from hops.gates.verdict import Doubt

KIND = "watch"
WAYS = ("push", "poll")
MOST_WATCHERS = 10_000
MOST_BLOCKS = 20
SHORTEST, LONGEST = "5s", "10m"
WARM_RATE, WARM_S = 20.0, 5.0
START_S = 20.0
"""How long it takes until a system is there and warm."""
SETTLE_S = 3.0
"""After the load the last updates may still be under way; who polls gets the time of an interval besides."""
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0}
TRACES_S = 20.0
WATCHERS = "watchers"
"""The process of those who wait, among the components."""
POSITIONS = "SELECT user_id, last_position FROM shop_notification.mailbox"


@takes_settings(KIND)
def command(
    *,
    topologies: str,
    ways: str,
    watchers: str,
    channel: str,
    interval: str,
    duration: str,
    rate: str | None,
    blocks: str,
    seed: str,
    switches: Given,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `watch`; `commands.toml` has its help."""
    with options.reported_errors():
        counts, chosen = ascending("watchers", watchers, 1, MOST_WATCHERS), parse_ways(ways)
        repeats = whole_number("blocks", blocks, 1, MOST_BLOCKS)
        length_s = duration_s("duration", duration, SHORTEST, LONGEST)
        interval_s = duration_s("interval", interval, "1s", "60s")
        setup = Setup(
            topologies=tuple(topologies_of(topologies, updates="on")),
            switches=parse_switches(**switches, updates="on"),
            workload=workload_file("default"),
            seed=checked_seed(seed),
            ports=load_ports(os.environ),
        )
        asked, entering = number("rate", rate) or WARM_RATE, parse_channel(channel)

        def measure(folder: ResultsFolder) -> Document:
            run = _Run(setup, folder, asked, length_s, interval_s, entering, Progress())
            return run.all(chosen, counts, repeats)

        systems, loads = repeats * len(setup.topologies) * len(chosen), 1 + len(counts)
        step_s = length_s + 2 * SETTLE_S + (interval_s if "poll" in chosen else 0.0) / len(chosen)
        took = minutes(systems * (START_S + loads * step_s))
        said = f"{plural(systems, 'system')}, {plural(loads, 'load')} each; {took}."
        in_steps.end(KIND, measure, _shown, announcement=said, strict=strict, as_json=as_json)


def _shown(document: Document) -> tuple[list[Element], list[Doubt]]:
    from hops.kinds.watch.report import doubts, elements

    return elements(document), doubts(document)


def parse_channel(given: str) -> Channel:
    """Reads a channel.

    Raises:
        UsageError: It is unknown.
    """
    if given not in list(Channel):
        raise UsageError(f"channel={given} is unknown; valid: {', '.join(Channel)}")
    return Channel(given)


def parse_ways(given: str) -> tuple[str, ...]:
    """Reads the ways to wait, with commas between them.

    Raises:
        UsageError: One is unknown, or named twice.
    """
    ways = tuple(part.strip() for part in given.split(","))
    if unknown := [way for way in ways if way not in WAYS]:
        raise UsageError(f"ways={given}: {unknown[0]!r} is unknown; valid: {', '.join(WAYS)}")
    if len(set(ways)) < len(ways):
        raise UsageError(f"ways={given} is not valid: give each way once")
    return ways


class _Run:
    """Starts systems, and has customers wait at them.

    Args:
        setup: What every system is made of.
        folder: The results folder.
        rate: Journeys a second of the tape.
        length_s: Length of the load with each number of watchers.
        interval_s: Time between two polls of a customer.
        channel: Whose customers wait.
        say: Told what is going on.
    """

    def __init__(
        self,
        setup: Setup,
        folder: ResultsFolder,
        rate: float,
        length_s: float,
        interval_s: float,
        channel: Channel,
        say: Progress,
    ) -> None:
        self._setup, self._folder, self._channel, self._say = setup, folder, channel, say
        self._rate, self._length_s, self._interval_s = rate, length_s, interval_s
        self._shopload = Shopload(BINARY)
        self._tapes = folder.path / "tapes"
        self._tapes.mkdir()

    def all(self, ways: Sequence[str], counts: Sequence[int], blocks: int) -> Document:
        """Starts every topology once for each way in each block, in random order, and has ever more customers wait."""
        setup, folder = self._setup, self._folder
        by_name = {topology.name: topology for topology in setup.topologies}
        seeds = {"tape": setup.seed, "data": DATA_SEED}
        manifest = manifest_of(KIND, folder.final.name, by_name, setup.switches, setup.workload, seeds)
        parity = parity_tape(
            self._shopload, self._tapes / "parity.jsonl", PARITY_SAMPLES, seed=setup.seed, scale=setup.switches.scale
        )
        warmup = Load(self._tape("warmup", 0, WARM_RATE, WARM_S), WARM_S)
        # A system that has served one tape has sold what it sells: each number of watchers has one of its own.
        loads = {
            count: Load(self._tape(f"load-{count}", place, self._rate, self._length_s), self._length_s)
            for place, count in enumerate((0, *counts), start=1)
        }
        waited: list[Waited] = []
        began, order = now(), random.Random(setup.seed)
        arms = [(topology, way) for topology in setup.topologies for way in ways]
        for block in range(1, blocks + 1):
            for topology, way in order.sample(arms, len(arms)):
                with self._say.within(f"block {block}/{blocks}, {topology.name}, {way}"):
                    data = Data(setup.switches.scale, DATA_SEED)
                    system = System(topology, setup.switches, setup.ports, folder.final.name, data=data)
                    trial = folder.path / "steps" / f"{topology.name}-{way}-{block}"
                    with ready(system, self._shopload, parity, warmup, trial, Clock(), self._say):
                        for count, load in loads.items():
                            one = self._waited(system, load, trial / str(count), way, count)
                            place = {"block": block, "topology": topology.name, "way": way, "watchers": count}
                            waited.append(cast("Waited", {**place, **one}))
                            self._say(_in_words(waited[-1]))
        manifest |= {"began": began, "ended": now()}
        return Document(
            schema=SCHEMA,
            name=folder.final.name,
            manifest=manifest,
            ways=list(ways),
            counts=[0, *counts],
            blocks=blocks,
            rate=self._rate,
            interval_s=self._interval_s,
            waited=waited,
        )

    def _tape(self, name: str, place: int, rate: float, length_s: float) -> Tape:
        setup = self._setup
        return self._shopload.tape(
            setup.workload,
            self._tapes / f"{name}.jsonl",
            seed=setup.seed + place,
            rate=rate,
            duration_s=length_s,
            scale=setup.switches.scale,
        )

    def _waited(self, system: Runtime, load: Load, folder: Path, way: str, count: int) -> dict[str, Any]:
        settle_s = SETTLE_S + (self._interval_s if way == "poll" else 0.0)
        before = positions(system)
        told, replayed = folder / WATCHERS, folder / "replay"
        watching = self._shopload.watching(
            load.tape,
            system.target,
            told,
            count,
            way,
            self._interval_s,
            load.duration_s + settle_s + SETTLE_S,
            self._channel,
        )
        with watching if count else nullcontext() as watchers:
            began = time.monotonic()
            heads = {} if watchers is None else {WATCHERS: [watchers.pid]}
            with ResourceSampler(lambda: {**system.pids(), **heads}) as sampler:
                replay = self._shopload.start_replay(load, system.target, replayed, trace=system.switches.trace)
                heads[CLIENT] = [replay.pid]
                try:
                    time.sleep(load.duration_s)
                    system.check()
                    self._shopload.finish_replay(replay)
                    time.sleep(settle_s)
                finally:
                    stop(replay)
            seconds, memory = time.monotonic() - began, memory_mb(system.pids())
            if watchers is not None and watchers.wait(timeout=10 * SETTLE_S) != 0:
                raise GeneratorError(f"the watchers ended with exit code {watchers.returncode}; their message is above")
        cpu_s = sampler.cpu_seconds()
        journeys = read_rows(replayed / JOURNEYS)
        failed = journeys.height - journeys.filter(journeys["outcome"] == "ok").height
        return {
            "journeys": journeys.height,
            "failed": failed,
            "seconds": seconds,
            "cpu_s": {name: used for name, used in cpu_s.items() if name not in (CLIENT, WATCHERS)},
            "memory_mb": memory,
            **(told_to(system, told, before) if count else _NOBODY),
        }


_NOBODY: Mapping[str, Any] = {
    "protocol": "",
    "updates": 0,
    "missed": 0,
    "repeated": 0,
    "reconnects": 0,
    "longest_reconnect_s": 0.0,
    "lateness_ms": {},
    "opened_s": 0.0,
    "open_s": 0.0,
    "bytes": 0,
    "budget_ms": {},
    "traced": 0,
    "off_ns": 0,
}


def told_to(system: Runtime, folder: Path, before: Mapping[int, int]) -> dict[str, Any]:
    """What the watchers were told, and what they should have been by the shop's own account."""
    figures = json.loads((folder / "watchers.json").read_text(encoding="utf-8"))
    rows = read_rows(folder / "updates.jsonl", UPDATES).to_dicts()
    first = [row for row in rows if not row["again"]]
    after = positions(system)
    due = {
        (user, position)
        for user in figures["users"]
        for position in range(before.get(user, 0) + 1, after.get(user, 0) + 1)
    }
    lateness = np.array([(row["arrived_ns"] - row["created_ns"]) / NS_PER_MS for row in first])
    traced = [row["traceparent"].split("-")[1] for row in first if row["traceparent"]]
    traces = read_traces(system.ports.url("jaeger-query-http"), traced, patience_s=TRACES_S).traces
    budgets = [budget for budget in budgets_of(traces.values())[0] if budget.quality.complete]
    parts = sorted({part for budget in budgets for part in budget.parts})
    return {
        "protocol": figures["protocol"],
        "updates": len(first),
        "missed": len(due - {(row["user_id"], row["position"]) for row in first}),
        "repeated": len(rows) - len(first),
        "reconnects": sum(figures["reconnects"].values()),
        "longest_reconnect_s": figures["longest_reconnect_s"],
        "lateness_ms": {name: float(np.percentile(lateness, at)) for name, at in PERCENTILES.items()} if first else {},
        "opened_s": figures["opened_s"],
        "open_s": figures["open_s"],
        "bytes": figures["bytes_in"] + figures["bytes_out"],
        "budget_ms": {
            part: sum(budget.parts.get(part, 0) for budget in budgets) / len(budgets) / NS_PER_MS for part in parts
        },
        "traced": len(budgets),
        "off_ns": max((budget.gap_ns for budget in budgets), default=0),
    }


def positions(system: Runtime) -> dict[int, int]:
    """The position of each customer's newest notification."""
    with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection:
        return {int(user): int(position) for user, position in connection.execute(POSITIONS).fetchall()}


def _in_words(one: Waited) -> str:
    if not one["watchers"]:
        return f"without watchers: {one['journeys']:,} journeys, {one['failed']:,} failed"
    late = one["lateness_ms"]
    told = f"{late['p50']:.1f} ms late at p50, {late['p99']:.0f} ms at p99" if late else "no update"
    return f"{one['watchers']:,} watchers: {one['updates']:,} updates, {one['missed']:,} missed, {told}"
