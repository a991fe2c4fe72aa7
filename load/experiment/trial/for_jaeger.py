"""Prepares saved traces for people who read them in Jaeger: in the terms of the hop budget, with uniform attributes.

The saved file is the measurement; this module only makes a copy for viewing, with the same times.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from hops.budget.any_system import tree_of
from hops.budget.parts import POOL_SPAN, part_of
from hops.traces.critical_path import walk
from hops.traces.otlp import read_spans
from hops.traces.span import Span
from hops.units import NS_PER_MS

PART, ON_PATH, POOL = "hop.part", "hop.on_path_ms", "hop.pool_acquire_ms"
"""Attributes of a span on the critical path: its part of the hop budget, its time on the path, and waits for pooled
connections too short for a row."""
MIN_POOL_NS = 50_000
"""A shorter wait for a connection becomes an attribute of the enclosing span instead of a row."""

_CONVENTION = {
    "http.method": "http.request.method",
    "http.status_code": "http.response.status_code",
    "http.protocol": "network.protocol.version",
    "http.flavor": "network.protocol.version",
    "http.scheme": "url.scheme",
    "net.peer.ip": "network.peer.address",
    "peer.address": "network.peer.address",
    "request_size": "http.request.body.size",
    "response_size": "http.response.body.size",
    "user_agent": "user_agent.original",
}
"""The edge's attribute names, each with the name that services use, which follows OpenTelemetry's conventions."""
_NOTHING = ("", "-")

Values = dict[str, Any]
"""Attributes by key, with values in the form of OTLP JSON."""


def for_jaeger(line: bytes, everywhere: Mapping[str, str], of_root: Callable[[str], Mapping[str, str]]) -> bytes:
    """Makes the copy of a trace that Jaeger shows.

    Args:
        everywhere: Attributes to add to each resource that lacks them.
        of_root: Returns attributes for the root of the trace with a given id.

    Raises:
        MalformedTraceError: The line is not OTLP JSON.
    """
    spans = read_spans(line)
    root = tree_of(spans).root
    parts: dict[str, str] = {}
    on_path: dict[str, int] = defaultdict(int)
    for node, start_ns, end_ns in walk(root) if root else ():
        parts[node.span.span_id] = part_of(node)
        on_path[node.span.span_id] += end_ns - start_ns
    in_pools: dict[str, int] = defaultdict(int)
    for span in filter(_is_short_wait, spans):
        in_pools[span.parent_id] += span.end_ns - span.start_ns
    document = json.loads(line)
    in_order = iter(spans)
    for resource_spans in document["resourceSpans"]:
        resource = resource_spans["resource"]
        resource["attributes"] = _as_list(_texts(everywhere) | _values(resource))
        for scope_spans in resource_spans["scopeSpans"]:
            kept = []
            for written, span in zip(scope_spans["spans"], in_order, strict=False):
                if _is_short_wait(span):
                    continue
                values = _values(written)
                written["name"] = _name(span.name, {key: _text(value) for key, value in values.items()})
                values = dict(_rename_attributes(values))
                if span.span_id in parts:
                    values |= _texts({PART: parts[span.span_id]}) | _ms(ON_PATH, on_path[span.span_id])
                if span.span_id in in_pools:
                    values |= _ms(POOL, in_pools[span.span_id])
                if root and span.span_id == root.span.span_id:
                    values |= _texts(of_root(span.trace_id))
                written["attributes"] = _as_list(values)
                kept.append(written)
            scope_spans["spans"] = kept
    return json.dumps(document).encode()


def _is_short_wait(span: Span) -> bool:
    return span.name == POOL_SPAN and span.end_ns - span.start_ns < MIN_POOL_NS


def _name(name: str, texts: Mapping[str, str]) -> str:
    """Puts the distinctive part of a name first: methods before their services, operations before their paths."""
    if "rpc.method" in texts:
        return f"{texts['rpc.method']} {texts.get('rpc.service', '')}".rstrip()
    if "graphql.operation.name" in texts:
        return f"{texts['graphql.operation.name']} {name}"
    if texts.get("component") == "proxy":
        way, _, _ = name.removeprefix("router ").rpartition(" egress")
        return f"{way} egress" if way else f"{texts.get('http.method', '')} {_url(texts).path} {name}".lstrip()
    return name


def _rename_attributes(values: Values) -> Iterator[tuple[str, Any]]:
    """Gives attributes the names that services use, and drops empty ones."""
    texts = {key: _text(value) for key, value in values.items()}
    for key, value in values.items():
        if texts[key] in _NOTHING or key in ("component", "upstream_cluster.name", "http.url", "upstream_address"):
            continue
        if key in ("http.protocol", "http.flavor"):
            value = {"stringValue": texts[key].removeprefix("HTTP/")}
        yield _CONVENTION.get(key, key), value
    if "http.url" in texts:
        url = _url(texts)
        yield "url.path", {"stringValue": url.path}
        yield "url.scheme", {"stringValue": url.scheme}
    if texts.get("upstream_address", "-") not in _NOTHING:
        host, _, port = texts["upstream_address"].rpartition(":")
        yield "server.address", {"stringValue": host}
        yield "server.port", {"intValue": port}


def _url(texts: Mapping[str, str]) -> Any:
    return urlsplit(texts.get("http.url", ""))


def _values(of: Mapping[str, Any]) -> Values:
    return {one["key"]: one.get("value", {}) for one in of.get("attributes") or ()}


def _text(value: Mapping[str, Any]) -> str:
    return str(next(iter(value.values()), ""))


def _texts(texts: Mapping[str, str]) -> Values:
    return {key: {"stringValue": text} for key, text in texts.items()}


def _ms(key: str, ns: int) -> Values:
    return {key: {"doubleValue": ns / NS_PER_MS}}


def _as_list(values: Values) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in values.items()]
