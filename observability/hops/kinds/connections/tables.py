"""The memory of components at each number of open connections: sentences and a table."""

from __future__ import annotations

import numpy as np

from hops.elements.element import Points, Section
from hops.elements.table import Cell, Column, Table, words
from hops.kinds.connections.memory import Connections, connections_of
from hops.tables.estimate import over_blocks
from hops.tables.view import SummaryView

ALL = "all"
KIB = 1024.0


def section(view: SummaryView) -> Section:
    """Shows the memory that each connection takes, and where memory was still changing."""
    connections = connections_of(view.summary)
    unsteady = [f"{where}: memory was still changing." for where in connections["unsteady"]]
    sentences = unsteady or ["Memory was steady at every number of connections."]
    return Section("memory", "Memory with open connections", [Points(sentences), memory_table(connections)])


def memory_table(connections: Connections) -> Table:
    """Lists each component's memory at each number of connections, and what each connection adds."""
    memory: dict[tuple[str, str], dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}
    for one in connections["held"]:
        memory.setdefault((one["topology"], one["component"]), {})[one["connections"]] = np.array(one["memory_mb"])
    counts = sorted({one["connections"] for one in connections["held"]})
    rows: list[list[Cell]] = []
    for topology in dict.fromkeys(topology for topology, _ in memory):
        of_topology = {component: of for (name, component), of in memory.items() if name == topology}
        in_all = {count: np.sum([of[count] for of in of_topology.values()], axis=0) for count in counts}
        for component, of in {**of_topology, ALL: in_all}.items():
            added = (of[counts[-1]] - of[counts[0]]) * KIB / max(counts[-1] - counts[0], 1)
            cells = [over_blocks(values) for values in (*(of[count] for count in counts), added)]
            rows.append([words(topology), words(component), *cells])
    columns = [Column("topology", numeric=False), Column("component", numeric=False)]
    columns += [Column(f"at {count:,}" if count else "idle", "MiB", interval=True) for count in counts]
    columns += [Column("a connection", "KiB", interval=True)]
    caption = (
        "Memory while connections are held open, without memory that processes share: means over blocks with "
        "95 % intervals. The last column is what each connection adds, from the fewest to the most"
    )
    return Table("memory", caption, columns, rows, heads=2)
