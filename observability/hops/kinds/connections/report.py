"""The memory of each component at each number of connections: its table, its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from hops.elements.element import Element, Points, Section
from hops.elements.table import Cell, Column, Table, words
from hops.gates.verdict import Doubt
from hops.kinds.connections.document import Document
from hops.report.plain import write_plain
from hops.run.documents import SCHEMA
from hops.run.documents.gate import Verdict
from hops.run.files import read_document
from hops.tables.over_blocks import over_blocks

ALL = "all"
KIB = 1024.0


def make_report(file: Path) -> tuple[Path, Verdict]:
    """Makes the page of a run from its document, beside it, each file whole or not at all.

    Returns:
        The page, and the verdict.

    Raises:
        MalformedRunError: The document is cut short, or of another schema.
        OSError: The disk is full, or the folder cannot be written.
    """
    document = cast("Document", read_document(file, SCHEMA))
    restless = unsteady(document)
    memory: list[Element] = [memory_table(document), *([Points([*map(str, restless)])] if restless else [])]
    question = "How much memory does each component have with so many open connections?"
    sound = "memory was steady at every number of connections."
    return write_plain(
        file.parent, document, "connections", question, [Section("memory", "Memory", memory)], sound, restless
    )


def unsteady(document: Document) -> list[Doubt]:
    """Where memory had not come to rest."""
    return [
        Doubt(
            f"{one['topology']} at {one['connections']} connections in block {one['block']}: memory was still changing"
        )
        for one in document["held"]
        if not one["steady"]
    ]


def memory_table(document: Document) -> Table:
    """Memory of each component at each number of connections, and what each connection adds."""
    counts, most = document["counts"], document["counts"][-1]
    rows: list[Sequence[Cell]] = []
    for topology in document["manifest"]["topologies"]:
        held = [one for one in document["held"] if one["topology"] == topology]
        for component in [*sorted({name for one in held for name in one["memory_mb"]}), ALL]:
            of = {
                count: np.array([_of(one["memory_mb"], component) for one in held if one["connections"] == count])
                for count in counts
            }
            added = (of[most] - of[counts[0]]) * KIB / max(most - counts[0], 1)
            cells = [over_blocks(values) for values in (*of.values(), added)]
            rows.append([words(topology), words(component), *cells])
    columns = [Column("topology", numeric=False), Column("component", numeric=False)]
    columns += [Column(f"at {count:,}" if count else "idle", "MiB", interval=True) for count in counts]
    columns += [Column("a connection", "KiB", interval=True)]
    caption = (
        "Memory (proportional set size) while connections are held open, means over blocks "
        f"({document['blocks']}) with 95 % intervals; in the last column, what each connection up to the most adds"
    )
    return Table("memory", caption, columns, rows, heads=2)


def _of(memory_mb: dict[str, float], component: str) -> float:
    return sum(memory_mb.values()) if component == ALL else memory_mb.get(component, 0.0)
