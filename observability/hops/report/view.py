"""The basis of every section: the run, its figures, and how its topologies are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl
from rich.console import Group

from hops.analysis.summary import FiguresOf, GatesOf, PairsOf, distance_figures, every_gate, every_pair
from hops.conclusions.comparison import answer_title
from hops.elements.element import Figures, Section
from hops.report.palette import Look, looks
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from hops.statistics.intervals import Floats
from hops.tables.conclusion import conclusion_elements
from hops.tables.view import SummaryView
from hops.units import ALL, NS_PER_MS


def what_it_says(view: SummaryView) -> Section:
    """Makes the first section of a comparison: its conclusions, and the fastest topology for each journey."""
    return Section("conclusions", "What this run says", conclusion_elements(view))


@dataclass(frozen=True, slots=True)
class Kind:
    """What is special about one kind of experiment; the defaults are those of a comparison of topologies.

    Args:
        question: Question that the report answers, shown below the title.
        terminal: Makes the terminal view of a summary; by default, the first section of the report without its folds,
            and whether the figures can be trusted.
        called: Name of the kind on the page; if empty, the name in the manifest.
        figures_of: Computes the figures that the summary has in addition to those of every run.
        gates_of: Evaluates the gates that decide whether the run can be trusted; by default, the gates of all its
            trials.
        conclusions: Makes the first section of the report, without marks of the verdict.
        marked: Whether the first section's tables have the run's verdict in their captions; not if the section gives a
            verdict on each part of the run.
        arms: Name of a block's trials, if topologies have several trials in a block.
        in_detail: Whether the report has the sections that show each arm.
        network: Describes the emulated network, if arms have different networks.
        modelled: Selects the view for the model of distance, if topologies have several arms.
        traced: Whether all runs of this kind read traces; if not, a report has hop budgets only if its run read traces.
        picture: Draws the picture of the first section; by default, latencies of each journey and topology.
        answer: Writes the report's title; empty if the run has no answer. By default, a report that begins with the
            conclusions of a comparison has their answer.
    """

    question: str
    terminal: Callable[[Summary], Group] | None = None
    called: str = ""
    pairs_of: PairsOf = every_pair
    figures_of: FiguresOf = distance_figures
    gates_of: GatesOf = every_gate
    conclusions: Callable[[SummaryView], Section] = what_it_says
    marked: bool = True
    arms: str = ""
    order: str = "in random order"
    in_detail: bool = True
    network: Callable[[View], str] | None = None
    modelled: Callable[[View], View] | None = None
    traced: bool = True
    picture: Callable[[View], Figures] | None = None
    answer: Callable[[Summary], str] | None = None

    def title(self, summary: Summary) -> str:
        """Gives the answer that the report has as its title; empty if there is none."""
        if self.answer is not None:
            return self.answer(summary)
        return answer_title(summary) if self.conclusions is what_it_says else ""

    def first_section(self, view: SummaryView) -> Section:
        """Makes the first section of the report, with the verdict before the captions of its tables."""
        section = self.conclusions(view)
        return replace(section, elements=view.mark_tables(section.elements)) if self.marked else section


@dataclass(frozen=True)
class View(SummaryView):
    """A run, ready to be shown."""

    run: RunFiles
    kind: Kind

    @property
    def measured(self) -> list[str]:
        """Lists the run's topologies, each once even if it has several arms."""
        if not self.kind.arms:
            return self.topologies
        return list(dict.fromkeys(str(one["name"]) for one in self.run.manifest["topologies"].values()))

    @property
    def traced(self) -> bool:
        """Whether there are hop budgets to show."""
        return self.kind.traced or not self.run.hops.is_empty()

    @property
    def looks(self) -> list[Look]:
        """Gives the look of each topology."""
        return looks(self.topologies)


def latencies_ms(view: View, topology: str, journey: str) -> Floats:
    """Gives the latencies of the journeys that ended ok, in ms."""
    chosen = (pl.col("topology") == topology) & (pl.col("outcome") == "ok")
    if journey != ALL:
        chosen &= pl.col("journey") == journey
    return view.run.journeys.filter(chosen)["latency_ns"].to_numpy() / NS_PER_MS
