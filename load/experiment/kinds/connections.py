"""`make connections`: the memory of each component while clients hold so many connections open."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypedDict

from experiment.arguments import ascending, whole_number
from experiment.commands import in_steps, options
from experiment.commands.in_steps import PARITY_SAMPLES, Setup
from experiment.generator.shopload import BINARY, Load, Shopload, Tape
from experiment.generator.tapes import parity_tape
from experiment.plan.arms_in_blocks import DATA_SEED
from experiment.progress import Progress, minutes
from experiment.results.folder import ResultsFolder
from experiment.results.manifest import manifest_of, now
from experiment.trial.outcome import Clock
from experiment.trial.resources import memory_mb
from experiment.trial.run import ready
from hops.conclusions.wording import plural
from hops.kinds.connections.document import Document, Held
from hops.run.documents import SCHEMA
from mesh.components.shop_processes import Data
from mesh.description.options import Given, Json, takes_settings
from mesh.description.switches import MOST_CONNECTIONS
from mesh.description.topology import Topology
from mesh.native.system import System
from mesh.runtime import Runtime

if TYPE_CHECKING:
    from hops.elements.element import Element
    from hops.gates.verdict import Doubt

KIND = "connections"
MOST_BLOCKS = 20
WARM_RATE, WARM_S = 20.0, 5.0
LOOK_S, STEADY_LOOKS, LIMIT_S = 1.0, 3, 20.0
START_S, COUNT_S = 20.0, 7.0
"""Seconds until a system is there and warm, and for each number of connections; for estimates."""
STEADY_SHARE = 0.005
"""Memory is steady once this many looks in a row differ from the one before by less than this share; no wait is longer
than the limit."""


class _Memory(TypedDict):
    """What `Held` says beside block, topology and number."""

    dialed: int
    memory_mb: dict[str, float]
    steady: bool


@takes_settings(KIND)
def command(
    *,
    topologies: str,
    connections: str,
    blocks: str,
    seed: str,
    switches: Given,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `connections`; `commands.toml` has its help."""
    with options.reported_errors():
        counts = ascending("connections", connections, 0, MOST_CONNECTIONS)
        repeats = whole_number("blocks", blocks, 1, MOST_BLOCKS)
        most = str(max(counts[-1], 1))  # so that processes may open as many files
        setup = in_steps.setup_of(KIND, topologies, seed, "default", **switches, connections=most)
        systems = repeats * len(setup.topologies)
        said = (
            f"{plural(systems, 'system')}, {', '.join(map(str, counts))} connections each; "
            f"{minutes(systems * (START_S + len(counts) * COUNT_S))}."
        )
        in_steps.end(
            KIND,
            lambda folder: hold(setup, counts, repeats, folder, Progress()),
            _shown,
            announcement=said,
            strict=strict,
            as_json=as_json,
        )


def _shown(document: Document) -> tuple[list[Element], list[Doubt]]:
    from hops.kinds.connections.report import memory_table, unsteady

    return [memory_table(document)], unsteady(document)


def hold(setup: Setup, counts: tuple[int, ...], blocks: int, folder: ResultsFolder, say: Progress) -> Document:
    """Starts every topology once in each block, in random order, and holds each number of connections in turn."""
    shopload, switches = Shopload(BINARY), setup.switches
    (folder.path / "tapes").mkdir()
    parity = parity_tape(
        shopload, folder.path / "tapes" / "parity.jsonl", PARITY_SAMPLES, seed=setup.seed, scale=switches.scale
    )
    tape = shopload.tape(
        setup.workload,
        folder.path / "tapes" / "warmup.jsonl",
        seed=setup.seed,
        rate=WARM_RATE,
        duration_s=WARM_S,
        scale=switches.scale,
    )
    by_name = {topology.name: topology for topology in setup.topologies}
    seeds = {"tape": setup.seed, "data": DATA_SEED}
    manifest = manifest_of(KIND, folder.final.name, by_name, switches, setup.workload, seeds)
    held: list[Held] = []
    began, order = now(), random.Random(setup.seed)
    for block in range(1, blocks + 1):
        for topology in order.sample(setup.topologies, len(setup.topologies)):
            with say.within(f"block {block}/{blocks}, {topology.name}"):
                system = _system(setup, topology, folder)
                trial = folder.path / "steps" / f"{topology.name}-{block}"
                with ready(system, shopload, parity, Load(tape, WARM_S), trial, Clock(), say):
                    for count in counts:
                        one = _held(system, shopload, tape, count)
                        held.append(Held(block=block, topology=topology.name, connections=count, **one))
                        say(f"{count} connections: {sum(one['memory_mb'].values()):.0f} MiB in all components")
    manifest |= {"began": began, "ended": now()}
    return Document(
        schema=SCHEMA, name=folder.final.name, manifest=manifest, counts=list(counts), blocks=blocks, held=held
    )


def _system(setup: Setup, topology: Topology, folder: ResultsFolder) -> System:
    data = Data(setup.switches.scale, DATA_SEED)
    return System(topology, setup.switches, setup.ports, folder.final.name, data=data)


def _held(system: Runtime, shopload: Shopload, tape: Tape, count: int) -> _Memory:
    with ExitStack() as stack:
        dialed = stack.enter_context(shopload.held(tape, system.target, count)) if count else 0
        last, looks, until = memory_mb(system.pids()), 0, time.monotonic() + LIMIT_S
        while looks < STEADY_LOOKS and time.monotonic() < until:
            time.sleep(LOOK_S)
            system.check()
            before, last = sum(last.values()), memory_mb(system.pids())
            looks = looks + 1 if abs(sum(last.values()) - before) < STEADY_SHARE * before else 0
    return {"dialed": dialed, "memory_mb": last, "steady": looks == STEADY_LOOKS}
