"""A drawing of a topology: which component calls which, and how, from the clients on the left to the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from hops.conclusions.wording import join_names
from hops.elements.element import Chart
from hops.run.switches import Switches, programs_of
from hops.units import SERVICES

Document = Mapping[str, Any]

CLIENTS, EDGE, DATABASE = "clients", "edge", "database"
PROTOCOLS = {
    "graphql": "GraphQL",
    "federation": "GraphQL",
    "grpc": "gRPC",
    "grpc-web": "gRPC-Web",
    "connect": "Connect",
    "rest": "REST",
    "sql": "SQL",
    "http": "HTTP",
}
_BY_EDGE = {"transcoder": "rest", "grpc-web": "grpc-web"}
"""Protocol of clients whose edge transcodes it to gRPC, by entry."""
_SPOKEN_BY = {"graphql-gateway": "graphql", "rest-gateway": "rest", **_BY_EDGE}
_BOX, _TALL, _GAP_X, _GAP_Y = 116, 30, 60, 14


@dataclass(frozen=True, slots=True)
class Link:
    """Caller, callee and protocol of a link."""

    caller: str
    callee: str
    protocol: str


@dataclass(slots=True)
class _Plan:
    columns: list[list[str]]
    callers: list[str]
    links: list[Link]
    places: dict[str, tuple[float, float]] = field(default_factory=dict)


def links_of(topology: Document, *, edge: bool) -> list[Link]:
    """Lists every link from the clients to the database; with an `edge`, clients call it."""
    every: list[Link] = []
    entry, links = topology["entry"], topology["links"]
    by_entry: dict[str, list[str]] = {}
    for channel, where in entry.items():
        by_entry.setdefault(where, []).append(channel)
    for where, channels in by_entry.items():
        spoken = _SPOKEN_BY.get(where) or next(iter(links.get("client", {}).values()), "http")
        inner = links.get(where, {}) if where in _BY_EDGE else {}
        is_gateway = where in _SPOKEN_BY and where not in _BY_EDGE
        callees = [where] if is_gateway else list(inner or links.get("client", {}))
        every += [Link(channel, EDGE, spoken) for channel in channels if edge]
        callers = [EDGE] if edge else channels
        every += [Link(caller, callee, inner.get(callee, spoken)) for callee in callees for caller in callers]
    for caller, callees_of in links.items():
        if caller not in ("client", *_BY_EDGE):
            every += [Link(caller, callee, protocol) for callee, protocol in callees_of.items()]
    services = dict.fromkeys(link.callee for link in every if link.callee in SERVICES)
    every += [Link(service, DATABASE, "sql") for service in services]
    return list(dict.fromkeys(every))


def browser_note(topologies: Mapping[str, Document]) -> str:
    """Explains in which topologies the web channel cannot be a browser; empty if it can be in all of them."""
    names = [
        name
        for name, one in topologies.items()
        if one["entry"].get("web") == "services" and "grpc" in one["links"].get("client", {}).values()
    ]
    if not names:
        return ""
    return (
        f"The web channel of {join_names(names)} is not a browser: pages cannot read HTTP trailers, in which gRPC "
        "sends its status. Browsers can use the topologies grpc-web and connect."
    )


def draw_topology(name: str, topology: Document, switches: Switches) -> Chart:
    """Draws one topology, with the edge, the replicas and the programs that its switches choose."""
    edge, replicas = switches.get("edge", "envoy"), switches.get("replicas", {})
    programs = programs_of(topology, switches)
    plan = _plan(topology, edge=edge != "none")
    step = _TALL + _GAP_Y
    width = len(plan.columns) * (_BOX + _GAP_X) - _GAP_X
    services = max(x for x, column in enumerate(plan.columns) if column) - 1
    # Components that call services are in a separate row, so that no line to a service passes behind them.
    callers = len(plan.callers)
    lower = max(len(column) for column in plan.columns if column is not plan.callers)
    height = (callers + lower) * step - _GAP_Y
    for x, column in enumerate(plan.columns):
        top = 0.0 if column is plan.callers else callers * step + (lower - len(column)) * step / 2
        for y, component in enumerate(column):
            plan.places[component] = (x * (_BOX + _GAP_X), top + y * step)
    passes = services * (_BOX + _GAP_X) + _BOX
    lines = "".join(_line(plan, link, passes) for link in plan.links)
    labels = {EDGE: f"edge ({edge.capitalize()})", DATABASE: "PostgreSQL"}
    labels |= {component: f"{component} ({program.capitalize()})" for component, program in programs.items()}
    boxes = "".join(
        _box(component, labels.get(component, component), *place, replicas.get(component, 1))
        for component, place in plan.places.items()
    )
    svg = (
        f'<svg class="topology" viewBox="-2 -2 {width + 4} {height + 4}" width="{width + 4}" height="{height + 4:.0f}">'
    )
    words = "; ".join(f"{link.caller} to {link.callee} by {protocol_name(link.protocol)}" for link in plan.links)
    about = f"{topology.get('about') or name}. {words}."
    about += "".join(f" {count} replicas of {component}." for component, count in replicas.items())
    about += "".join(f" {component} is another program: {program}." for component, program in programs.items())
    drawn = Markup(f"{svg}{lines}{boxes}</svg>")  # noqa: S704  made here; names are of a checked topology
    return Chart(name, about, lambda: drawn, str(topology.get("about") or ""))


def protocol_name(protocol: str) -> str:
    """Gives a protocol's name for people."""
    return PROTOCOLS.get(protocol, protocol)


def _plan(topology: Document, *, edge: bool) -> _Plan:
    links = links_of(topology, edge=edge)
    names = list(dict.fromkeys(name for link in links for name in (link.caller, link.callee)))
    channels = [name for name in topology["entry"] if name in names]
    services = [name for name in names if name not in (*channels, EDGE, DATABASE)]
    callers = {link.caller for link in links if link.callee in services}
    callees = {link.callee for link in links if link.caller in services}
    gateways = [name for name in services if name not in callees and name in callers and name not in SERVICES]
    rest = [name for name in services if name not in gateways]
    first = [name for name in rest if name in callers]
    last = [name for name in rest if name not in callers]
    # An empty column still takes up space, so that services are at the same place in every drawing.
    columns = [channels, *([[EDGE]] if edge else []), gateways, first, last, [DATABASE]]
    return _Plan(columns, first, links)


def _line(plan: _Plan, link: Link, passes: int) -> str:
    (x1, y1), (x2, y2) = plan.places[link.caller], plan.places[link.callee]
    x1, y1, y2 = x1 + _BOX, y1 + _TALL / 2, y2 + _TALL / 2
    bend = min(60.0, (x2 - x1) / 2)
    path = f"M{x1:.0f},{y1:.0f}C{x1 + bend:.0f},{y1:.0f} {x2 - bend:.0f},{y2:.0f} {x2 - 5:.0f},{y2:.0f}"
    if link.callee == DATABASE and link.caller in plan.callers:
        path = f"M{x1:.0f},{y1:.0f}H{passes}C{passes + 45},{y1:.0f} {x2 - 20:.0f},{y2:.0f} {x2 - 5:.0f},{y2:.0f}"
    kind = link.protocol if link.protocol in PROTOCOLS else "http"
    head = f"M{x2 - 6:.0f},{y2 - 3.5:.1f}l6,3.5l-6,3.5z"
    return f'<path class="link p-{kind}" d="{path}"/><path class="head p-{kind}" d="{head}"/>'


def _box(component: str, label: str, x: float, y: float, replicas: int) -> str:
    kind = component if component in (EDGE, DATABASE) else "gateway" if component.endswith("-gateway") else ""
    kind = kind or ("service" if component in SERVICES else "client")
    label += f" ×{replicas}" if replicas > 1 else ""
    round_ = 16 if kind == "client" else 6
    return (
        f'<rect class="box {kind}" x="{x:.0f}" y="{y:.1f}" width="{_BOX}" height="{_TALL}" rx="{round_}"/>'
        f'<text x="{x + _BOX / 2:.0f}" y="{y + _TALL / 2 + 4:.1f}">{escape(label)}</text>'
    )
