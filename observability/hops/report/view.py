"""What every section looks at: the run, its figures, and how its topologies are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.console import Group

from hops.analysis.summary import FiguresOf, GatesOf, PairsOf, distance_figures, every_gate, every_pair
from hops.elements.element import Figures, Section
from hops.report.palette import Look, looks
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from hops.tables.conclusion import conclusion_elements
from hops.tables.view import SummaryView
from hops.units import ALL, NS_PER_MS

Floats = npt.NDArray[np.float64]


def what_it_says(view: SummaryView) -> Section:
    """The first section of a comparison: its conclusions, and who is fastest for which journey."""
    return Section("conclusions", "What this run says", conclusion_elements(view))


@dataclass(frozen=True, slots=True)
class Kind:
    """What sets one kind of experiment apart; what is not given is as in a comparison of topologies.

    Args:
        question: which the report answers; it stands below the title.
        terminal: what a terminal shows of a summary; the first section of the report without its folds, and whether to
            trust it, if not given.
        called: what the page calls it; as the manifest does if empty.
        pairs_of: the pairs that are compared.
        figures_of: what the summary has beside the figures of every run.
        gates_of: the gates that decide whether the run may be trusted; those of all its trials if not given.
        conclusions: the first section of the report.
        arms: what the trials of a block are, where they are more than topologies.
        order: the order in which arms run.
        in_detail: whether the report has the sections that show each arm; without, only what the kind shows of them.
        network: the emulated network in words, where arms differ in it.
        modelled: the view that the model of distance is of, where topologies have several arms.
        traced: whether all its runs read traces; the others' reports have hop budgets only if there are any.
        picture: the one picture of the first section; latencies of each journey and topology if not given.
    """

    question: str
    terminal: Callable[[Summary], Group] | None = None
    called: str = ""
    pairs_of: PairsOf = every_pair
    figures_of: FiguresOf = distance_figures
    gates_of: GatesOf = every_gate
    conclusions: Callable[[SummaryView], Section] = what_it_says
    arms: str = ""
    order: str = "in random order"
    in_detail: bool = True
    network: Callable[[View], str] | None = None
    modelled: Callable[[View], View] | None = None
    traced: bool = True
    picture: Callable[[View], Figures] | None = None


@dataclass(frozen=True)
class View(SummaryView):
    """A run, ready to be shown.

    Args:
        summary: as analysed.
        run: as read.
        kind: of the experiment.
    """

    run: RunFiles
    kind: Kind

    @property
    def measured(self) -> list[str]:
        """What the run is about: its topologies, each once where it has several arms."""
        if not self.kind.arms:
            return self.topologies
        return list(dict.fromkeys(str(one["name"]) for one in self.run.manifest["topologies"].values()))

    @property
    def traced(self) -> bool:
        """Whether there are hop budgets to show."""
        return self.kind.traced or not self.run.hops.is_empty()

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
