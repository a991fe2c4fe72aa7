"""What every section looks at: the run, its figures, and how its topologies are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.report.palette import Look, looks
from hops.run.documents import HopDifference, JourneySummary, Summary
from hops.run.files import RunFiles
from hops.units import ALL, NS_PER_MS

#: Where an interval over blocks, or a comparison, would stand.
ONE_BLOCK = "One block: no intervals over blocks, no comparison."
ONE_TOPOLOGY = "One topology: no comparison."


@dataclass(frozen=True)
class View:
    """A run, ready to be shown.

    Args:
        run: as read.
        summary: as analysed.
    """

    run: RunFiles
    summary: Summary
    looks: list[Look] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", looks(list(self.summary["topologies"])))

    @property
    def topologies(self) -> list[str]:
        """Their names, in the user's order."""
        return [look.name for look in self.looks]

    @property
    def journeys(self) -> list[str]:
        """The journeys by name, without `all`."""
        found = {name for one in self.summary["topologies"].values() for name in one["journeys"]}
        return sorted(found - {ALL})

    @property
    def journeys_and_all(self) -> list[str]:
        """The journeys by name, then `all`."""
        return [*self.journeys, ALL]

    @property
    def why_alone(self) -> str:
        """Why there is no comparison; empty if there is one."""
        if self.summary["blocks"] < 2:
            return ONE_BLOCK
        return "" if len(self.looks) > 1 else ONE_TOPOLOGY

    def cell(self, topology: str, journey: str) -> JourneySummary | None:
        """The figures of one journey of one topology; None if it has none."""
        return self.summary["topologies"][topology]["journeys"].get(journey)

    def cells(self, journey: str) -> Iterator[tuple[Look, JourneySummary]]:
        """The figures of one journey, topology by topology."""
        for look in self.looks:
            found = self.cell(look.name, journey)
            if found is not None:
                yield look, found

    def mark(self, topology: str) -> str:
        """The class that puts a topology's mark before its name; none if the summary does not have it."""
        names = self.topologies
        return f"mark t{names.index(topology) % 8}" if topology in names else ""

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of topologies whose hops were compared."""
        return list(dict.fromkeys((row["left"], row["right"]) for row in self.summary["hop_differences"]))

    def hop_differences(self, left: str, right: str) -> list[HopDifference]:
        """Why the two differ, by journey, `all` last."""
        rows = [row for row in self.summary["hop_differences"] if (row["left"], row["right"]) == (left, right)]
        return sorted(rows, key=lambda row: (row["journey"] == ALL, row["journey"]))

    @property
    def topology_key(self) -> list[tuple[str, str]]:
        """The legend of charts that tell topologies apart."""
        return [(f"mark t{look.index % 8}", look.name) for look in self.looks]


Floats = npt.NDArray[np.float64]


def latencies_ms(view: View, topology: str, journey: str) -> Floats:
    """Latencies of the journeys that ended ok, in ms."""
    chosen = (pl.col("topology") == topology) & (pl.col("outcome") == "ok")
    if journey != ALL:
        chosen &= pl.col("journey") == journey
    return view.run.journeys.filter(chosen)["latency_ns"].to_numpy() / NS_PER_MS
