"""What a journey asks of the network, as a table for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from hops.run.documents import Mode, TopologySummary, WireSummary
from hops.terminal.tables import NOTHING, all_last, marked, table_titled
from hops.units import ALL


def bytes_table(topology: TopologySummary, mode: Mode = "open") -> Table:
    """What a journey takes: requests, how often the client waits for some (waves), bytes of bodies and on the wire."""
    table = table_titled(marked("Requests and bytes per journey", mode))
    table.add_column("journey", no_wrap=True)
    for name in ("requests", "waves", "body in", "raw in", "body out", "wire in", "wire out"):
        table.add_column(name, justify="right", no_wrap=True)
    for journey, cell in all_last(topology):
        if journey == ALL:
            table.add_section()
        table.add_row(
            journey,
            f"{cell['requests_per_journey']:.2f}",
            f"{cell['waves_mean']:.2f}",
            *(
                NOTHING if value is None else f"{value:,.0f}"
                for value in (
                    cell["bytes_in_mean"],
                    cell["bytes_in_raw_mean"],
                    cell["bytes_out_mean"],
                    cell["wire_in_mean"],
                    cell["wire_out_mean"],
                )
            ),
        )
    return table


def wire_line(wire: WireSummary | None) -> Text:
    """What the whole replay put on the wire, in words."""
    if wire is None:
        return Text("Whole replay: bytes on the wire were not counted.")
    number = wire["connections"]
    connections = "1 connection" if number == 1 else f"{number:,} connections"
    return Text(
        "Per journey, the bytes on the wire are those of a sample sent alone before the load. "
        f"Whole replay: {wire['in_per_journey']:,.0f} bytes in and {wire['out_per_journey']:,.0f} out a journey on the "
        f"wire, by {connections}. Before it, to open them: {wire['opening_bytes_in']:,} in, "
        f"{wire['opening_bytes_out']:,} out."
    )
