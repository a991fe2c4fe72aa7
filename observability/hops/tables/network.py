"""What a journey costs the network: requests, round trips, bytes."""

from __future__ import annotations

from hops.elements.table import Column, Table, number, whole, words
from hops.tables.view import SummaryView


def bytes_table(view: SummaryView) -> Table:
    """Requests and bytes of a journey."""
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
    return Table("bytes", view.titled("Requests and bytes per journey, means"), columns, rows, heads=2)


def has_wire(view: SummaryView) -> bool:
    """Whether journeys were sent alone, whose bytes on the wire are then known."""
    every = [cell for journey in view.journeys_and_all for _, cell in view.cells(journey)]
    return any(cell["wire_in_mean"] is not None for cell in every)


def wire_table(view: SummaryView) -> Table:
    """All that the clients' connections carried."""
    columns = [Column(view.compared.one, numeric=False), Column("connections")]
    columns += [Column(name, "bytes") for name in ("in per journey", "out per journey", "opening in", "opening out")]
    carried = {name: view.summary["topologies"][name]["wire"] for name in view.topologies}
    cached = any(wire and "not_modified" in wire for wire in carried.values())
    columns += [Column("not modified", "% of requests")] * cached
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
        unchanged = [number(None if share is None else 100 * share)] * cached
        rows.append([view.name(name), *map(whole, figures), *unchanged])
    caption = "Bytes on the wire over the whole replay, and to open the connections beforehand"
    return Table("wire", view.titled(caption), columns, rows)
