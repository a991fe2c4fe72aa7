"""What was measured: the topologies drawn, the load, the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hops.elements.element import Element, Figures, Fold, Heading, Section, Text
from hops.elements.table import Column, Table, words
from hops.report.sections.topology_drawing import PROTOCOLS, browser_note, draw_topology, links_of, protocol_name
from hops.run.switches import Switches, is_of_the_shop, mesh_text, switches_of


def section(manifest: Mapping[str, Any], facts: Sequence[tuple[str, str]]) -> Section:
    """Makes the section on the topologies, the load and the machine."""
    about = [[words(name), words(text)] for name, text in facts]
    how = Table("setup", "The load and the machine", [Column(name, numeric=False) for name in ("what", "how")], about)
    load: list[Element] = [Heading("Load and machine"), how]
    if not is_of_the_shop(manifest):
        targets: list[Element] = [Heading("Targets"), targets_table(manifest["targets"])]
        return Section("setup", "What was measured", [*targets, *load], detail=True)
    distinct = _distinct(manifest)
    meshed = any(mesh_text(own) for _, own in distinct.values())
    drawings = [draw_topology(name, one, own) for name, (one, own) in distinct.items()]
    links = [
        (name, link)
        for name, (one, own) in distinct.items()
        for link in links_of(one, edge=own.get("edge", "envoy") != "none")
    ]
    used = {link.protocol for _, link in links}
    rows = [[words(name), *map(words, (one.caller, one.callee, protocol_name(one.protocol)))] for name, one in links]
    columns = [Column(name, numeric=False) for name in ("topology", "caller", "callee", "protocol")]
    elements: list[Element] = [
        Heading("Topologies"),
        Figures(
            drawings,
            [(f"line p-{key}", name) for key, name in PROTOCOLS.items() if key in used],
            "Requests go from left to right. In a checkout, order calls the other services."
            + (" Behind the edge, a call passes the sidecars of its caller and its callee." if meshed else ""),
            wide=True,
        ),
        *([Text(note)] if (note := browser_note({name: one for name, (one, _) in distinct.items()})) else []),
        Fold("The links as a table", [Table("links", "Links of each topology", columns, rows, heads=2)]),
        *load,
    ]
    return Section("setup", "What was measured", elements, detail=True)


def _distinct(manifest: Mapping[str, Any]) -> dict[str, tuple[Mapping[str, Any], Switches]]:
    """Lists the topologies with their switches; arms that differ only in their load are one entry."""
    arms = {label: (one, switches_of(manifest, label)) for label, one in manifest["topologies"].items()}
    alike: dict[str, list[str]] = {}
    for label, arm in arms.items():
        alike.setdefault(repr(arm), []).append(label)
    return {
        labels[0] if len(labels) == 1 else str(arms[labels[0]][0]["name"]): arms[labels[0]] for labels in alike.values()
    }


def targets_table(targets: Mapping[str, Mapping[str, Any]]) -> Table:
    """Lists the endpoints of each target that is not the shop."""
    rows = [
        [words(name), words(endpoint), words(url)]
        for name, place in targets.items()
        for endpoint, url in place["endpoints"].items()
    ]
    columns = [Column(name, numeric=False) for name in ("target", "endpoint", "URL")]
    return Table("targets", "Endpoints of each target", columns, rows, heads=2)
