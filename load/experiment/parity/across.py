"""`make parity`: sends every journey through every topology, and compares answers and effects."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from experiment.errors import EffectsDifferError
from experiment.generator.shopload import Shopload, Tape
from experiment.parity.answers import check_answers
from experiment.parity.digest import digests
from hops.elements.table import Column, Table, whole, words
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.components.trial import as_it_runs
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.native.system import System


@dataclass(frozen=True, slots=True)
class Parity:
    """A topology that gave only correct answers, their number by kind of journey, and each table's final digest."""

    topology: str
    compared: Mapping[str, int]
    state: Mapping[str, str]


def check_topologies(
    topologies: Sequence[Topology],
    switches: Switches,
    ports: Ports,
    shopload: Shopload,
    make_tape: Callable[[Path], Tape],
    *,
    say: Callable[[str], None],
    extra: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
) -> list[Parity]:
    """Sends the same sample through each topology, one after another, each on a fresh database.

    Args:
        extra: Further settings, by topology and component.

    Raises:
        ParityError: An answer differs from the reference answer.
        EffectsDifferError: The writes had a different effect in a topology than in the first one.
        MeshError: A component did not start, or died.
    """
    done: list[Parity] = []
    with tempfile.TemporaryDirectory(prefix="hopwise-parity-") as folder:
        tape = make_tape(Path(folder, "parity.jsonl"))
        for topology in topologies:
            say(f"{topology.name}: starting")
            more = (extra or {}).get(topology.name)
            with System(
                topology, as_it_runs(topology, switches), ports, f"parity-{topology.name}", extra=more
            ) as system:
                rows = check_answers(system, shopload, tape, Path(folder, f"{topology.name}.jsonl"))
                with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection:
                    state = digests(connection)
            if done:
                tables = [table for table, digest in state.items() if digest != done[0].state[table]]
                if tables:
                    raise EffectsDifferError(topology.name, done[0].topology, tables)
            effects = ", and its writes had the same effects as the first topology's" if done else ""
            say(f"{topology.name}: {len(rows)} answers match the data{effects}")
            done.append(Parity(topology.name, dict(Counter(row["journey"] for row in rows)), state))
    return done


def parity_table(done: Sequence[Parity]) -> Table:
    """Returns a table with the number of matching answers per topology and kind of journey."""
    rows = []
    for one in done:
        by_journey = ", ".join(f"{journey} {count}" for journey, count in sorted(one.compared.items()))
        rows.append([words(one.topology), whole(sum(one.compared.values())), words(by_journey)])
    columns = [Column("topology", numeric=False), Column("answers"), Column("of them", numeric=False)]
    title = "Journeys whose answers match the data, and whose writes have the same effect everywhere"
    return Table("parity", title, columns, rows)
