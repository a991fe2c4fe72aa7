"""What was measured: the topologies drawn, the load, the machine."""

from __future__ import annotations

from typing import Any

from hops.report import numbers
from hops.report.blocks import Block, Figures, Fold, Heading, Section
from hops.report.table import Column, Table, words
from hops.report.topology_drawing import PROTOCOLS, draw_topology, links_of, protocol_name
from hops.report.view import View


def section(view: View) -> Section:
    """Makes the section."""
    edge = view.run.manifest.get("switches", {}).get("edge", "envoy") != "none"
    topologies: dict[str, Any] = view.run.manifest["topologies"]
    drawings = [draw_topology(name, one, edge=edge) for name, one in topologies.items()]
    links = [(name, link) for name, one in topologies.items() for link in links_of(one, edge=edge)]
    used = {link.protocol for _, link in links}
    blocks: list[Block] = [
        Heading("Topologies"),
        Figures(
            drawings,
            [(f"line p-{key}", name) for key, name in PROTOCOLS.items() if key in used],
            "Requests go from left to right. Order calls the other services in a checkout.",
            wide=True,
        ),
        Fold(
            "The links as a table",
            [
                Table(
                    "links",
                    "Links of each topology",
                    [Column(name, numeric=False) for name in ("topology", "caller", "callee", "protocol")],
                    [
                        [words(name), words(link.caller), words(link.callee), words(protocol_name(link.protocol))]
                        for name, link in links
                    ],
                    heads=2,
                )
            ],
        ),
        Heading("Load and machine"),
        setup_table(view),
    ]
    return Section("setup", "What was measured", blocks)


def setup_table(view: View) -> Table:
    """The run in a few lines."""
    manifest, summary = view.run.manifest, view.summary
    rows = [[words(name), words(text)] for name, text in (*load_facts(view), *machine_facts(manifest))]
    rows.append([words("tape"), words(str(summary["tape"].get("sha256", "")))])
    return Table(
        "setup", "The load and the machine", [Column("what", numeric=False), Column("how", numeric=False)], rows
    )


def load_facts(view: View) -> list[tuple[str, str]]:
    """How the load was sent, in words."""
    manifest, summary = view.run.manifest, view.summary
    profile, switches = manifest["profile"], manifest["switches"]
    closed = summary["closed"]
    if closed is None:
        load = f"open loop, {profile['rate']:g} journeys a second"
    else:
        load = f"closed loop, {closed['vus']:,} virtual users, {closed['think_s']:g} s between answer and next journey"
    count = len(view.looks)
    blocks = summary["blocks"]
    return [
        (
            "load",
            f"{load}, for {numbers.seconds(profile['duration_s'])} after {numbers.seconds(profile['warmup_s'])} of "
            "warm-up",
        ),
        (
            "experiment",
            f"{blocks} {'block' if blocks == 1 else 'blocks'} of {count} "
            f"{'topology' if count == 1 else 'topologies'} in "
            "random order, each trial with fresh processes and a fresh database"
            if count > 1
            else f"{blocks} {'block' if blocks == 1 else 'blocks'} of one topology",
        ),
        ("workload", str(manifest["workload"])),
        ("tracing", f"{100 * float(switches.get('trace', 0)):g} % of the journeys, drawn at random"),
        (
            "switches",
            ", ".join(f"{key} {value}" for key, value in switches.items() if key != "trace" and value != {}),
        ),
    ]


def machine_facts(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """The machine, in words."""
    machine, git = manifest["machine"], manifest["git"]
    dirty = ", with changes that are in no commit" if git.get("dirty") else ""
    return [
        (
            "machine",
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_mb'] / 1024:.0f} GiB, {machine['kernel']}",
        ),
        ("code", f"{str(git.get('commit'))[:12]}{dirty}"),
        ("when", f"{when(manifest.get('began'))} to {when(manifest.get('ended'))}"),
    ]


def when(stamp: str | None) -> str:
    """A time of the manifest, for people, in UTC."""
    return "not yet" if not stamp else str(stamp)[:16].replace("T", " ") + " UTC"
