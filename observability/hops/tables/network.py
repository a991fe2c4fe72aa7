"""The network traffic of a journey: requests, round trips, bytes."""

from __future__ import annotations

from hops.budget.groups import GROUPS, NETWORK_GROUP
from hops.conclusions.wording import negate_interval
from hops.elements.numbers import NOTHING
from hops.elements.table import Cell, Column, Table, estimate, number, percent, whole, words
from hops.run.documents.difference import Comparison
from hops.run.documents.estimate import Estimate
from hops.run.documents.topology import EdgeCacheSummary
from hops.run.network import LOOPBACK, NAMED
from hops.tables.estimate import estimate_cell
from hops.tables.view import SummaryView

_SPARE = {"services": 0, "gateways": 0, NETWORK_GROUP: 1, "internal calls": 2, "edge": 2}
"""Order in which a terminal leaves out groups of parts; 3 for all others."""


def bytes_table(view: SummaryView) -> Table:
    """Lists the mean requests and bytes of each journey."""
    columns = [Column("journey", numeric=False), view.topology_column]
    columns += [Column("requests"), Column("waves"), Column("in parallel", spare=2)]
    columns += [Column(name, "bytes", spare=int(name == "raw in")) for name in ("body in", "raw in", "body out")]
    columns += [Column(name, "bytes") for name in ("wire in", "wire out")] if has_wire(view) else []
    rows = [
        [
            words(journey),
            view.name(name),
            *map(number, (cell["requests_per_journey"], cell["waves_mean"], cell["parallel_mean"])),
            *map(whole, (cell["bytes_in_mean"], cell["bytes_in_raw_mean"], cell["bytes_out_mean"])),
            *(map(whole, (cell["wire_in_mean"], cell["wire_out_mean"])) if has_wire(view) else ()),
        ]
        for journey in view.journeys_and_all
        for name, cell in view.cells(journey)
    ]
    return Table("bytes", view.mark_caption("Requests and bytes per journey, means"), columns, rows, heads=2)


def _edge_cache_cells(cache: EdgeCacheSummary | None) -> list[Cell]:
    if cache is None:
        return [Cell(NOTHING)] * 3
    hits = cache["hit_share"]
    share = estimate(100 * hits["value"], [None if end is None else 100 * end for end in hits["ci95"]])
    return [share, *map(estimate_cell, (cache["fetches"], cache["bytes"]))]


def has_wire(view: SummaryView) -> bool:
    """Whether journeys were sent alone, so that their bytes on the wire are known."""
    every = [cell for journey in view.journeys_and_all for _, cell in view.cells(journey)]
    return any(cell["wire_in_mean"] is not None for cell in every)


def over_fetching_table(view: SummaryView) -> Table | None:
    """Lists the fields and bytes in answers that no screen shows; None if the summary has no rows about them."""
    rows = view.summary.get("over_fetching")
    if not rows:
        return None
    shown = [name for name in NAMED if name != LOOPBACK]
    columns = [Column("journey", numeric=False), view.topology_column, Column("fields"), Column("beyond")]
    columns += [Column("raw beyond", "bytes", spare=1), Column("sent beyond", "bytes")]
    columns += [Column("of the body", "%", spare=1)]
    columns += [Column(name, "ms", spare=int(name != "4g")) for name in shown]
    columns.append(Column("5 % of p50 below", "Mbit/s"))
    lines = [
        [
            words(row["journey"]),
            view.name(row["topology"]),
            *map(number, (row["fields"], row["fields_beyond"])),
            *map(estimate_cell, (row["bytes_beyond"], row["sent_beyond"])),
            percent(row["sent_share"]),
            *(number(row["ms"][name]) for name in shown),
            number(row["matters_below_mbit"]),
        ]
        for row in sorted(rows, key=lambda row: row["journey"])
    ]
    title = view.mark_caption("Over-fetching: what an answer has beyond what its screen shows, and what that takes")
    return Table("over_fetching", title, columns, lines, heads=2)


def selection_table(view: SummaryView) -> Table | None:
    """Lists what field selection saves, by group of parts; None if no two arms differ only in field selection."""
    rows = view.summary.get("selection")
    if not rows:
        return None
    groups = [group for group in GROUPS if any(group in row["parts_ms"] for row in rows)]
    columns = [Column("journey", numeric=False), Column("with", numeric=False), Column("instead of", numeric=False)]
    columns += [Column("mean", "ms", interval=True)]
    columns += [Column(group, "ms", interval=True, spare=_SPARE.get(group, 3)) for group in groups]
    columns += [Column("CPU", "ms", interval=True)]
    lines = [
        [
            words(row["journey"]),
            view.name(row["selecting"]),
            view.name(row["usual"]),
            *(estimate_cell(part) for part in (row["mean_ms"], *(row["parts_ms"].get(group) for group in groups))),
            estimate_cell(_cpu_estimate(row["cpu"])),
        ]
        for row in rows
    ]
    caption = "What selection saves, ms: means of traced journeys, and CPU time over the whole mix"
    return Table("selection", view.mark_caption(caption), columns, lines, heads=3)


def _cpu_estimate(cpu: Comparison | None) -> Estimate | None:
    if cpu is None or cpu["difference"] is None:
        return None
    return Estimate(value=-cpu["difference"], ci95=negate_interval(cpu["ci95"]))


def wire_table(view: SummaryView) -> Table:
    """Lists everything that the clients' connections carried."""
    columns = [Column(view.compared.one, numeric=False), Column("connections")]
    columns += [Column(name, "bytes") for name in ("in per journey", "out per journey", "opening in", "opening out")]
    carried = {name: view.summary["topologies"][name]["wire"] for name in view.topologies}
    cached = any(wire and "not_modified" in wire for wire in carried.values())
    columns += [Column("not modified", "% of requests")] * cached
    shared = {name: view.summary["topologies"][name].get("edge_cache") for name in view.topologies}
    has_shared = any(shared.values())
    columns += [
        Column("cache hits", "% of requests", interval=True),
        Column("to the edge", "requests per journey", interval=True),
        Column("to and from the edge", "bytes per journey", interval=True),
    ] * has_shared
    rows = []
    for name, wire in carried.items():
        figures = (
            (None,) * 5
            if wire is None
            else (
                wire["connections"],
                wire["in_per_journey"],
                wire["out_per_journey"],
                wire["opening_bytes_in"],
                wire["opening_bytes_out"],
            )
        )
        share = wire.get("not_modified") if wire else None
        unchanged = [percent(share)] * cached
        rows.append([view.name(name), *map(whole, figures), *unchanged, *_edge_cache_cells(shared[name]) * has_shared])
    caption = "Bytes on the wire over the whole replay, and to open the connections beforehand"
    return Table("wire", view.mark_caption(caption), columns, rows)
