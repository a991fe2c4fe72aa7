"""The cost of a mesh's sidecars: their share of a journey's time, their CPU time and memory."""

from __future__ import annotations

from hops.analysis.cost import SIDECAR_SUFFIX, component_group
from hops.budget.parts import INBOUND, OUTBOUND, component_of
from hops.elements import numbers
from hops.elements.element import Element, Heading, Text
from hops.elements.numbers import figure
from hops.elements.table import Cell, Column, Table, number, words
from hops.run.documents.topology import TopologySummary
from hops.tables.budget import MEAN, by_group
from hops.tables.view import SummaryView
from hops.units import ALL


def sidecar_elements(view: SummaryView) -> list[Element]:
    """Shows the cost of all sidecars together, and a row for each; empty without a mesh."""
    texts = sidecar_texts(view)
    return [Heading("Sidecars"), *texts, sidecar_table(view)] if texts else []


def sidecar_texts(view: SummaryView) -> list[Text]:
    """States the cost of all sidecars of each topology; empty without a mesh."""
    topologies = [name for name in view.topologies if _sidecars(view, name)]
    if not topologies:
        return []
    sentences = [_sentence(name, view.summary["topologies"][name]) for name in topologies]
    more = (
        "Their own time is not their whole cost: each call also crosses two more wires, between the components and "
        "their sidecars, which count as internal calls."
    )
    return [Text(" ".join([*sentences, more]))]


def sidecar_table(view: SummaryView) -> Table:
    """Makes a table with a row per sidecar, with both of its directions."""
    columns = [view.topology_column, Column("component", numeric=False)]
    for direction in ("inbound", "outbound"):
        columns += [Column(f"{direction} crossings"), Column(f"{direction} time", "ms each")]
    columns += [Column("CPU", "ms"), Column("memory", "MiB")]
    rows = [
        [
            view.name(name),
            words(component),
            *_direction(summary, component + INBOUND),
            *_direction(summary, component + OUTBOUND),
            number(summary["cpu_ms_per_journey"].get(component + SIDECAR_SUFFIX)),
            number(summary["rss_mb"].get(component + SIDECAR_SUFFIX)),
        ]
        for name, summary in view.summary["topologies"].items()
        for component in _sidecars(view, name)
    ]
    caption = (
        "Sidecars: crossings of a journey, their own time for each on the critical path, CPU of a journey, peak memory"
    )
    return Table("sidecars", view.mark_caption(caption), columns, rows, heads=2)


def _sidecars(view: SummaryView, topology: str) -> list[str]:
    summary = view.summary["topologies"][topology]
    proxies = {component_of(name) for name in summary["sidecars"]}
    return sorted(proxies | {name.removesuffix(SIDECAR_SUFFIX) for name in _processes(summary)})


def _processes(summary: TopologySummary) -> list[str]:
    return [name for name in summary["cpu_ms_per_journey"] if component_group(name) == "sidecars"]


def _direction(summary: TopologySummary, proxy: str) -> list[Cell]:
    one = summary["sidecars"].get(proxy)
    if one is None:
        return [Cell(numbers.NOTHING), Cell(numbers.NOTHING)]
    return [number(one["crossings_per_journey"]), number(one["ms_per_crossing"])]


def _sentence(topology: str, summary: TopologySummary) -> str:
    """Writes `hybrid: a journey crosses sidecars 9.4 times, which takes …. They use …`, as far as measured."""
    parts = []
    budget = summary["journeys"][ALL]["budget_ms"].get(MEAN, {})
    if budget:
        crossings = sum(one["crossings_per_journey"] for one in summary["sidecars"].values())
        own = by_group(budget).get("sidecars", 0.0)
        parts.append(
            f"a journey crosses sidecars {numbers.plain(crossings)} times, which takes {figure(own, unit='ms')} of its "
            f"time ({numbers.share(own / sum(budget.values()))})."
        )
    processes = _processes(summary)
    if processes:
        cpu_ms = sum(summary["cpu_ms_per_journey"][name] for name in processes)
        memory_mb = sum(summary["rss_mb"].get(name, 0.0) for name in processes)
        parts.append(
            f"{'They' if parts else 'sidecars'} use {figure(cpu_ms, unit='ms')} of CPU for each journey and "
            f"{figure(memory_mb, unit='MiB')} of memory together."
        )
    return f"{topology}: {' '.join(parts)}"
