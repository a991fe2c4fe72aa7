"""A synthetic shop: its journeys, its topologies, and their costs, roughly as measured.

Traces, runs and experiments are drawn at random around these figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hops.analysis.cost import CONTROL_PLANE, SIDECAR_SUFFIX
from hops.budget.call_paths import SEPARATOR
from hops.budget.parts import CLIENT_PART, EDGE, GENERATOR, INBOUND, OUTBOUND, PROXY, START_LAG_PART, is_proxy

GATEWAY = "graphql-gateway"
REST_GATEWAY = "rest-gateway"
_WIRE = "wire:"
_PROXY_MS = 0.11
_TO_SIDECAR_MS = 0.12
"""Mean of one sidecar's own time for a call, and of the wire between a component and its sidecar."""


@dataclass(frozen=True, slots=True)
class JourneyShape:
    """One kind of journey.

    Args:
        median_ms: Median latency in experiments that do not distinguish topologies.
        work_ms: Work of each service that the journey needs, in the order of calls; the first is called from outside.
        nested: Whether the first service calls the others (a checkout), instead of the component that composes the
            answer.
    """

    channel: str
    weight: int
    median_ms: float
    work_ms: Mapping[str, float]
    nested: bool
    answer_bytes: int


@dataclass(frozen=True, slots=True)
class TopologyShape:
    """One way to reach the services.

    Args:
        gateways: Gateway by channel; empty if clients call the services directly.
        call_ms: Mean time of an internal call on the wire.
        gateway_ms: Mean work of a gateway for each service that it calls.
        cpu_ms: CPU time of a call, on both sides together.
    """

    about: str
    gateways: Mapping[str, str]
    call_ms: float
    gateway_ms: float
    protocol: str
    cpu_ms: float


JOURNEY_SHAPES: dict[str, JourneyShape] = {
    "browse": JourneyShape("web", 25, 10.5, {"product": 4.0}, False, 6600),
    "bulk_lines": JourneyShape("partner", 5, 19.0, {"order": 6.0, "product": 5.0}, False, 182_000),
    "checkout": JourneyShape("web", 8, 20.0, {"order": 5.0, "user": 1.0, "product": 1.5, "payment": 1.5}, True, 440),
    "login": JourneyShape("mobile", 5, 33.0, {"user": 30.0}, False, 360),
    "order_history": JourneyShape("web", 15, 13.0, {"order": 3.0, "product": 2.0, "payment": 1.0}, False, 6100),
    "order_status": JourneyShape("partner", 12, 4.8, {"order": 1.2, "payment": 0.8}, False, 600),
    "product": JourneyShape("mobile", 25, 4.5, {"product": 1.2}, False, 300),
    "update_profile": JourneyShape("web", 5, 4.9, {"user": 1.6}, False, 180),
}

_GRAPHQL_FOR_ALL = {"web": GATEWAY, "mobile": GATEWAY, "partner": GATEWAY}
TOPOLOGY_SHAPES: dict[str, TopologyShape] = {
    "hybrid": TopologyShape(
        "GraphQL for web and mobile, REST for partners, gRPC inside",
        {"web": GATEWAY, "mobile": GATEWAY, "partner": REST_GATEWAY},
        0.7,
        1.6,
        "grpc",
        0.5,
    ),
    "rest": TopologyShape("REST everywhere; the client composes", {}, 0.9, 0.0, "rest", 0.7),
    "graphql": TopologyShape("GraphQL everywhere", _GRAPHQL_FOR_ALL, 1.5, 2.0, "graphql", 1.4),
    "grpc": TopologyShape("gRPC everywhere; the client composes", {}, 0.6, 0.0, "grpc", 0.4),
}


def shape_of(topology: str) -> TopologyShape:
    """Gives the shape of a topology; an unknown topology is shaped like `hybrid`."""
    return TOPOLOGY_SHAPES.get(topology, TOPOLOGY_SHAPES["hybrid"])


def parts_ms(shape: TopologyShape, journey: str, *, mesh: bool = False) -> dict[str, float]:
    """Computes the mean of each part of a journey's budget, ms."""
    plan = JOURNEY_SHAPES[journey]
    gateway = shape.gateways.get(plan.channel)
    first, *others = plan.work_ms
    trips = waves(shape, journey)
    parts = {
        START_LAG_PART: 0.1,
        CLIENT_PART: 0.15 * trips,
        f"wire:{GENERATOR}→{EDGE}": 0.4 * trips,
        f"proxy:{EDGE}": 0.2 * trips,
    }
    outside = EDGE if gateway is None else gateway
    if gateway is not None:
        parts |= {f"wire:{EDGE}→{gateway}": 0.4, f"work:{gateway}": shape.gateway_ms * len(plan.work_ms)}
    parts[f"wire:{outside}→{first}"] = shape.call_ms
    for other in others:
        parts[f"wire:{first if plan.nested else outside}→{other}"] = shape.call_ms
    for service, work_ms in plan.work_ms.items():
        parts |= {f"work:{service}": 0.55 * work_ms, f"db:{service}": 0.4 * work_ms, f"pool:{service}": 0.05 * work_ms}
    return by_way_of_sidecars(parts, proxy_ms=_PROXY_MS, wire_ms=_TO_SIDECAR_MS) if mesh else parts


def call_paths(parts: Iterable[str]) -> dict[str, str]:
    """Gives each part, as ordered by `parts_ms`, a call path; a component with several callers is below the first."""
    wires = [part.removeprefix(_WIRE).split("→") for part in parts if part.startswith(_WIRE)]
    callers = {callee: caller for caller, callee in reversed(wires)}

    def of_component(name: str) -> str:
        if name not in callers:
            return CLIENT_PART
        work = f"{PROXY if is_proxy(name) else 'work:'}{name}"
        return SEPARATOR.join((of_component(callers[name]), f"{_WIRE}{callers[name]}→{name}", work))

    def of_part(part: str) -> str:
        above = of_component(part.partition(":")[2].partition("→")[0])
        return above if part == above.rpartition(SEPARATOR)[2] else f"{above}{SEPARATOR}{part}"

    return {part: of_part(part) for part in parts}


def by_way_of_sidecars(parts: Mapping[str, float], *, proxy_ms: float, wire_ms: float) -> dict[str, float]:
    """Splits each wire behind the edge into the legs of a call in a mesh; the given ms are for one proxy or wire."""
    legs: dict[str, float] = {}
    for part, ms in parts.items():
        kind, _, ends = part.partition(":")
        caller, _, callee = ends.partition("→")
        if kind != "wire" or caller == GENERATOR:
            legs[part] = legs.get(part, 0.0) + ms
            continue
        way_out, way_in = caller + OUTBOUND, callee + INBOUND
        for leg, leg_ms in (
            (f"wire:{caller}→{way_out}", wire_ms),
            (f"proxy:{way_out}", proxy_ms),
            (f"wire:{way_out}→{way_in}", ms),
            (f"proxy:{way_in}", proxy_ms),
            (f"wire:{way_in}→{callee}", wire_ms),
        ):
            legs[leg] = legs.get(leg, 0.0) + leg_ms
    return legs


def waves(shape: TopologyShape, journey: str) -> int:
    """Counts the waves of a client's requests: each wave waits for the wave before."""
    plan = JOURNEY_SHAPES[journey]
    if journey == "login":
        return 2
    return 1 if plan.nested or shape.gateways else min(2, len(plan.work_ms))


def cpu_ms(shape: TopologyShape, *, mesh: str = "none") -> dict[str, float]:
    """Computes the mean CPU of each component for a journey of the default mix, ms; mesh: none, envoy or istio."""
    services = {"order": 1.1, "payment": 0.4, "product": 1.0, "user": 1.1}
    components = {name: work_ms + shape.cpu_ms for name, work_ms in services.items()}
    for gateway in sorted(set(shape.gateways.values())):
        components[gateway] = shape.gateway_ms * (1.6 if gateway == GATEWAY else 0.5)
    components[EDGE] = 0.8
    if mesh != "none":
        components |= {f"{name}{SIDECAR_SUFFIX}": 0.5 for name in components}
    if mesh == "istio":
        components[CONTROL_PLANE] = 0.02
    return components | {"postgres": 0.8, "jaeger": 0.3, GENERATOR: 1.0}


def document_of(name: str, shape: TopologyShape) -> dict[str, Any]:
    """Describes a topology as in the manifest."""
    order = dict.fromkeys(("product", "user", "payment"), shape.protocol)
    asked = dict.fromkeys(("product", "order", "user", "payment"), shape.protocol)
    callers = sorted(set(shape.gateways.values())) or [GENERATOR]
    return {
        "name": name,
        "about": shape.about,
        "entry": dict(shape.gateways) or dict.fromkeys(("web", "mobile", "partner"), "services"),
        "links": {caller: dict(asked) for caller in callers} | {"order": order},
        "plan": "best",
    }
