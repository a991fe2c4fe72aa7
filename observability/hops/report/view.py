"""What every section looks at: the run, its figures, and how its topologies are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.report.palette import Look, looks
from hops.run.files import RunFiles
from hops.run.ladder import KIND as LADDER
from hops.run.rtt import KIND as RTT
from hops.tables.view import SummaryView
from hops.units import ALL, NS_PER_MS

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class View(SummaryView):
    """A run, ready to be shown.

    Args:
        summary: Summary of the run.
        run: Files of the run.
    """

    run: RunFiles

    @property
    def measured(self) -> list[str]:
        """What the run is about: its topologies, each once where it has several arms."""
        if self.summary["kind"] not in (LADDER, RTT):
            return self.topologies
        return list(dict.fromkeys(str(one["name"]) for one in self.run.manifest["topologies"].values()))

    @property
    def looks(self) -> list[Look]:
        """How each topology is drawn."""
        return looks(self.topologies)


def latencies_ms(view: View, topology: str, journey: str) -> Floats:
    """Latencies of the journeys that ended ok, in ms."""
    chosen = (pl.col("topology") == topology) & (pl.col("outcome") == "ok")
    if journey != ALL:
        chosen &= pl.col("journey") == journey
    return view.run.journeys.filter(chosen)["latency_ns"].to_numpy() / NS_PER_MS
