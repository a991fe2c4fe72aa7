"""Jaeger shows the saved trace in the budget's terms, with the file's times."""

from __future__ import annotations

import json
from typing import Any

import pytest

from experiment.trial.for_jaeger import MIN_POOL_NS, for_jaeger
from hops.budget.parts import budget_of_tree
from hops.traces.otlp import read_spans
from hops.traces.tree import grow

EVERYWHERE = {"shop.topology": "hybrid"}
OF_ROOT = {"hop.exemplar": "checkout p99"}
ENVOY = {
    "component": "proxy",
    "http.method": "POST",
    "http.status_code": "200",
    "http.url": "http://127.0.0.1:27000/graphql",
    "http.protocol": "HTTP/2",
    "zone": "",
    "response_flags": "-",
    "request_size": "287",
}
"""Some of Envoy's attributes of a request."""


def trace(pool_ns: int = MIN_POOL_NS - 1) -> bytes:
    """Makes a customer's call through the edge to order, which waits for a connection and then calls its database."""
    rpc = {"rpc.method": "Checkout", "rpc.service": "shop.order.v1.OrderService"}
    spans = [
        ("client", "1", "", "checkout", 1, 0, 10_000_000, {"shop.journey": "checkout"}),
        ("client", "2", "1", "POST /graphql", 3, 0, 9_000_000, {}),
        ("edge", "3", "2", "ingress", 2, 500_000, 8_500_000, ENVOY),
        ("edge", "4", "3", "router order egress", 3, 600_000, 8_400_000, ENVOY | {"upstream_address": "127.0.0.1:9"}),
        ("order", "5", "4", "shop.order.v1.OrderService/Checkout", 2, 700_000, 8_300_000, rpc),
        ("order", "6", "5", "pool.acquire", 1, 800_000, 800_000 + pool_ns, {}),
        ("order", "7", "5", "INSERT checkout", 3, 2_000_000, 7_000_000, {"db.system.name": "postgresql"}),
    ]
    resources = []
    for service, number, parent, name, kind, start, end, attributes in spans:
        span = {"traceId": "a" * 32, "spanId": number * 16, "parentSpanId": parent * 16, "name": name, "kind": kind}
        span |= {"startTimeUnixNano": str(10**18 + start), "endTimeUnixNano": str(10**18 + end)}
        span["attributes"] = [_attribute(*one) for one in attributes.items()]
        resource = {"attributes": [_attribute("service.name", service)]}
        resources.append({"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]})
    return json.dumps({"resourceSpans": resources}).encode()


def _attribute(key: str, text: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": text}}


def spans_in_jaeger(line: bytes) -> dict[str, dict[str, Any]]:
    """Returns the copy's spans by name, each with its own and its resource's attributes."""
    spans = {}
    for resource in json.loads(for_jaeger(line, EVERYWHERE, lambda _: OF_ROOT))["resourceSpans"]:
        for span in resource["scopeSpans"][0]["spans"]:
            attributes = [*resource["resource"]["attributes"], *span["attributes"]]
            spans[span["name"]] = {one["key"]: next(iter(one["value"].values())) for one in attributes}
    return spans


def test_spans_on_the_path_carry_the_parts_of_the_budget() -> None:
    budget = budget_of_tree(grow(read_spans(trace(MIN_POOL_NS))))
    assert budget is not None
    ms: dict[str, float] = {}
    for attributes in spans_in_jaeger(trace(MIN_POOL_NS)).values():
        part = attributes["hop.part"]
        ms[part] = ms.get(part, 0.0) + attributes["hop.on_path_ms"]
    assert ms == pytest.approx({part: ns / 1e6 for part, ns in budget.parts.items()})


def test_names_begin_with_their_distinctive_part() -> None:
    assert list(spans_in_jaeger(trace())) == [
        "checkout",
        "POST /graphql",
        "POST /graphql ingress",
        "order egress",
        "Checkout shop.order.v1.OrderService",
        "INSERT checkout",
    ]


def test_the_edge_s_attributes_have_the_services_names() -> None:
    edge = spans_in_jaeger(trace())["order egress"]
    assert (
        edge.items()
        >= {
            "http.request.method": "POST",
            "http.response.status_code": "200",
            "http.request.body.size": "287",
            "network.protocol.version": "2",
            "server.address": "127.0.0.1",
            "server.port": "9",
            "url.path": "/graphql",
            "url.scheme": "http",
        }.items()
    )
    assert edge.keys().isdisjoint({*ENVOY, "upstream_address"})


def test_a_short_wait_for_a_connection_is_an_attribute_and_a_long_wait_a_row() -> None:
    short = spans_in_jaeger(trace())
    assert "pool.acquire" not in short
    assert short["Checkout shop.order.v1.OrderService"]["hop.pool_acquire_ms"] == (MIN_POOL_NS - 1) / 1e6
    assert "pool.acquire" in spans_in_jaeger(trace(MIN_POOL_NS))


def test_every_component_has_the_topology_and_the_root_its_exemplar() -> None:
    spans = spans_in_jaeger(trace())
    assert {attributes["shop.topology"] for attributes in spans.values()} == {"hybrid"}
    assert [name for name, attributes in spans.items() if "hop.exemplar" in attributes] == ["checkout"]
