"""The basis of every table: the figures of a summary, its topologies and journeys in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hops.conclusions.wording import mark_lines
from hops.elements.compared import Compared, compared_in
from hops.elements.element import Element, Fold
from hops.elements.table import Cell, Column, Table, words
from hops.run.documents.difference import HopDifference
from hops.run.documents.summary import Summary
from hops.run.documents.topology import JourneySummary
from hops.units import ALL


@dataclass(frozen=True)
class SummaryView:
    """A summary, ready to be shown."""

    summary: Summary

    @property
    def compared(self) -> Compared:
        """What the run compares."""
        return compared_in(self.summary)

    @property
    def topologies(self) -> list[str]:
        """Names of the topologies, in the user's order."""
        return list(self.summary["topologies"])

    @property
    def journeys(self) -> list[str]:
        """The journeys by name, without `all`."""
        names = {name for one in self.summary["topologies"].values() for name in one["journeys"]}
        return sorted(names - {ALL})

    @property
    def journeys_and_all(self) -> list[str]:
        """The journeys by name, then `all`."""
        return [*self.journeys, ALL]

    @property
    def is_alone(self) -> bool:
        """Whether there is no comparison: only one topology, or only one block."""
        return self.summary["blocks"] < 2 or len(self.topologies) == 1

    def cell(self, topology: str, journey: str) -> JourneySummary | None:
        """Gives the figures of one journey in one topology; None if the journey was not measured there."""
        return self.summary["topologies"][topology]["journeys"].get(journey)

    def cells(self, journey: str) -> Iterator[tuple[str, JourneySummary]]:
        """Yields the figures of one journey in each topology that measured it."""
        for name in self.topologies:
            cell = self.cell(name, journey)
            if cell is not None:
                yield name, cell

    def mark(self, topology: str) -> str:
        """Gives the CSS class that puts a topology's mark before its name; empty if the summary lacks the topology."""
        names = self.topologies
        return f"mark t{names.index(topology) % 8}" if topology in names else ""

    def name(self, topology: str) -> Cell:
        """Formats a topology's name after its mark."""
        return words(topology, self.mark(topology))

    @property
    def topology_column(self) -> Column:
        """The column of topology names; of little use for a single topology."""
        return Column(self.compared.one, numeric=False, spare=9 if len(self.topologies) == 1 else 0)

    @property
    def topologies_of_rows(self) -> tuple[Column, Callable[[Any], Cell]]:
        """The column of topology names for `table_of`, for rows with a `topology`."""
        return Column(self.compared.one, numeric=False), lambda row: words(row["topology"])

    @property
    def topology_key(self) -> list[tuple[str, str]]:
        """The legend of charts that distinguish topologies."""
        return [(self.mark(name), name) for name in self.topologies]

    def pairs(self) -> list[tuple[str, str]]:
        """Lists the pairs of topologies whose hops were compared."""
        return list(dict.fromkeys((row["left"], row["right"]) for row in self.summary["hop_differences"]))

    def hop_differences(self, left: str, right: str) -> list[HopDifference]:
        """Lists the differences between the two topologies of a pair by journey, with `all` last."""
        rows = [row for row in self.summary["hop_differences"] if (row["left"], row["right"]) == (left, right)]
        return sorted(rows, key=lambda row: (row["journey"] == ALL, row["journey"]))

    def mark_caption(self, caption: str) -> str:
        """Puts the verdict before a caption unless the run is VALID, and marks figures of a closed loop."""
        if self.summary["mode"] != "open":
            first = caption[0].lower() if caption[1:2].islower() else caption[0]  # "CPU" stays as it is
            caption = f"Closed loop: {first}{caption[1:]}"
        return mark_lines(self.summary["verdict"], [caption])[0]

    def mark_tables(self, elements: Iterable[Element]) -> list[Element]:
        """Marks the captions of tables, including those in folds."""
        return [self._mark_tables_in(element) for element in elements]

    def _mark_tables_in(self, element: Element) -> Element:
        match element:
            case Table():
                return replace(element, caption=self.mark_caption(element.caption))
            case Fold():
                return replace(element, elements=self.mark_tables(element.elements))
            case _:
                return element
