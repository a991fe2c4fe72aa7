"""`make parity`: every journey through every topology, answers and effects compared."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from experiment.generator.shopload import Shopload, Tape
from experiment.parity.answers import ParityError, compare
from experiment.parity.digest import digests
from experiment.parity.reference import Reference
from hops.elements.table import Column, Table, whole, words
from mesh.errors import MeshError
from mesh.ports import Ports
from mesh.switches import Switches
from mesh.system import System, trial_database_url
from mesh.topology import Topology


class EffectsDifferError(MeshError):
    """Two topologies were sent the same writes, and their databases differ.

    Args:
        topology: The one that differs.
        first: The one that it was compared with.
        tables: What differs.
    """

    def __init__(self, topology: str, first: str, tables: Sequence[str]) -> None:
        super().__init__(
            f"after the same writes, the database of {topology} differs from that of {first} in: {', '.join(tables)}"
        )
        self.tables = tuple(tables)


@dataclass(frozen=True, slots=True)
class Parity:
    """One topology that answered everything right.

    Attributes:
        topology: Its name.
        compared: Journeys compared, by journey.
        state: Digest of every table afterwards.
    """

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
    environ: Mapping[str, str] = os.environ,
    extra: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
) -> list[Parity]:
    """Sends the same sample through each topology, one after the other, each on a fresh database.

    Args:
        topologies: Which.
        switches: How they run.
        ports: Where.
        shopload: The generator.
        make_tape: Makes the sample's tape at a path.
        say: Told what is going on.
        environ: `DATABASE_URL` and `JAEGER_BIN` are read from it.
        extra: More settings, by topology and component.

    Returns:
        What was compared, in the order of the topologies.

    Raises:
        ParityError: An answer is not the reference answer.
        EffectsDifferError: The writes had another effect than in the first topology.
        MeshError: A component did not start, or died.
    """
    done: list[Parity] = []
    with tempfile.TemporaryDirectory(prefix="hopwise-parity-") as folder:
        tape = make_tape(Path(folder, "parity.jsonl"))
        for topology in topologies:
            say(f"{topology.name}: starting")
            more = (extra or {}).get(topology.name)
            with System(topology, switches, ports, f"parity-{topology.name}", environ=environ, extra=more) as system:
                rows = shopload.sample(tape, system.target, Path(folder, f"{topology.name}.jsonl"))
                with psycopg.connect(trial_database_url(system), connect_timeout=10) as connection:
                    differences = compare(rows, Reference(connection))
                    state = digests(connection)
            if differences:
                raise ParityError(topology.name, len(rows), differences)
            counts: dict[str, int] = {}
            for row in rows:
                counts[row["journey"]] = counts.get(row["journey"], 0) + 1
            if done:
                tables = [table for table, digest in state.items() if digest != done[0].state[table]]
                if tables:
                    raise EffectsDifferError(topology.name, done[0].topology, tables)
            say(f"{topology.name}: {len(rows)} answers as the data says" + (", same effects" if done else ""))
            done.append(Parity(topology.name, counts, state))
    return done


def parity_table(done: Sequence[Parity]) -> Table:
    """How many answers of each journey were compared, and equal, in each topology."""
    rows = []
    for one in done:
        by_journey = ", ".join(f"{journey} {count}" for journey, count in sorted(one.compared.items()))
        rows.append([words(one.topology), whole(sum(one.compared.values())), words(by_journey)])
    columns = [Column("topology", numeric=False), Column("answers"), Column("of them", numeric=False)]
    return Table("parity", "Answers equal to the data's, and effects equal to each other's", columns, rows)
