"""Whom a call names as its callee, by the attributes that tracers write.

A service's name says more than a host, and a host more than an address. For a proxy, the name of its upstream cluster
comes first, because its URL has the host that its own caller requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address
from sys import intern

from hops.traces.span import CLIENT, NO_ATTRIBUTES, AttributeValue, Kind, Span, shown_name

SUBGRAPHS = (
    "apollo.subgraph.name",
    "hive.graphql.subgraph.name",
    "gateway.upstream.subgraph.name",
    "wg.subgraph.name",
    "subgraph.name",
)
"""Attributes in which GraphQL gateways name the subgraph that they call."""
SERVICES = ("peer.service", "service.peer.name", *SUBGRAPHS)
"""Attributes that name a service, not a host."""
CLUSTERS = ("upstream_cluster", "upstream_cluster.name")
URLS = ("url.full", "http.url")
PEERS = (
    *SERVICES,
    *CLUSTERS,
    "server.address",
    "net.peer.name",
    *URLS,
    "http.host",
    "peer.hostname",
    "out.host",
    "network.destination.name",
    "net.sock.peer.name",
    "network.peer.address",
    "net.peer.ip",
    "net.sock.peer.addr",
    "upstream_address",
    "peer.address",
    "peer.ipv4",
    "peer.ipv6",
)
"""Attributes that name a call's callee; the first with a value counts."""
OF_PROXIES = (*CLUSTERS, *URLS, "upstream_address")
"""Attributes that name the callee in a proxy's span, where `peer.address` may be the proxy's caller."""

PROXIES = frozenset({"istio-proxy", "linkerd-proxy"})
"""Services whose spans all come from sidecars."""
PROXY_NODES = ("sidecar~", "router~", "waypoint~", "ztunnel~")
"""Prefixes of the `node_id` of Istio's proxies."""
PROXY_MARKS = frozenset({*CLUSTERS, "component", "node_id", "istio.canonical_service"})
"""Attributes that proxies write; other writers give `component` and `node_id` other values."""
INBOUND = ("inbound|", "inbound_.", "InboundPassthroughCluster", "cds_ingress_")
LOCAL_APPLICATIONS = frozenset({"local_app", "local_service", "local_agent"})
"""Clusters that are the proxy's own application: in Consul and in Envoy's examples."""
PRIVATE_DOMAINS = frozenset({"consul", "internal", "lan", "local", "localdomain", "svc"})
"""Last labels of hosts whose first label is a service's name, as in `order.shop.svc.cluster.local`."""
NOWHERE = frozenset({"", "-", "PassthroughCluster", "BlackHoleCluster"})
"""Cluster names that name no service."""

_OF_CALLS = frozenset(PEERS)
_OF_CLIENTS = _OF_CALLS - PROXY_MARKS - frozenset(SUBGRAPHS)
_TARGET = re.compile(r"(?:ipv4|ipv6|dns|xds|passthrough):(?://[^/]*/)?(?P<target>[^/].*)", re.IGNORECASE)
"""Matches a gRPC target, such as `dns:///pay.example.com:443` or `ipv4:192.0.2.7:443`."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.:-]*://", re.IGNORECASE)
_HOST_AND_PATH = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?/|[\w.-]+:\d+")
_PORT = re.compile(r":\d*$")


def lean(attributes: dict[str, AttributeValue], kind: Kind) -> Mapping[str, AttributeValue]:
    """Removes a callee's attributes unless the span may be a call, and `component` unless it says "proxy"."""
    if kind is not CLIENT and kind is not Kind.UNSPECIFIED and not _OF_CLIENTS.isdisjoint(attributes):
        for name in _OF_CLIENTS.intersection(attributes):
            del attributes[name]
    if attributes.get("component", "proxy") != "proxy":
        del attributes["component"]
    return attributes or NO_ATTRIBUTES


def is_proxy(span: Span) -> bool:
    """Whether a span is a proxy's, by the attributes that Envoy writes."""
    attributes = span.attributes
    if span.service in PROXIES:
        return True
    if PROXY_MARKS.isdisjoint(attributes):
        return False
    return (
        "upstream_cluster" in attributes
        or "upstream_cluster.name" in attributes
        or "istio.canonical_service" in attributes
        or attributes.get("component") == "proxy"
        or str(attributes.get("node_id", "")).startswith(PROXY_NODES)
    )


class Services:
    """The components of a trace, by the names that calls use for them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name: name for name in names}
        # Calls name Istio's proxies by service and namespace, and their hosts and applications by service only.
        for name in sorted(self._names):
            if name.count(".") == 1:
                self._names.setdefault(name.partition(".")[0], name)

    def named_by(self, peer: str) -> str:
        """Finds the component behind the peer of a call; empty if it has no spans in the trace.

        `order.shop.svc` is the service `order`, or `order.shop` if there is one; `order.example.com` is outside the
        trace.
        """
        if not peer or peer in self._names:
            return self._names.get(peer, "")
        label, _, domain = peer.partition(".")
        if domain and domain.rpartition(".")[2] not in PRIVATE_DOMAINS:
            return ""
        return self._names.get(f"{label}.{domain.partition('.')[0]}") or self._names.get(label, "")


def cluster_of(span: Span) -> str:
    """Gives the cluster that a proxy sent a request to; empty if the span names no cluster."""
    return next((str(span.attributes[name]) for name in CLUSTERS if span.attributes.get(name)), "")


def is_inbound(span: Span) -> bool:
    """Whether a proxy's span is for a request to its own application."""
    cluster = cluster_of(span)
    return cluster.startswith(INBOUND) or cluster in LOCAL_APPLICATIONS


def peer_of(span: Span) -> str:
    """Gives the callee that a call names; empty if it names no callee."""
    return ranked_peer_of(span)[1]


def ranked_peer_of(span: Span) -> tuple[int, str]:
    """Gives the rank in `PEERS` of the attribute that names a call's callee, and the callee; lower is more certain."""
    attributes = span.attributes
    if _OF_CALLS.isdisjoint(attributes):
        return len(PEERS), ""
    for name in OF_PROXIES if is_proxy(span) else PEERS:
        if value := attributes.get(name):
            if peer := _peer(name, _ipv4_of(value) if name == "peer.ipv4" else str(value)):
                return PEERS.index(name), peer
            if name in CLUSTERS and is_inbound(span):
                break
    return len(PEERS), ""


def _ipv4_of(address: AttributeValue) -> str:
    """Formats an IPv4 address; Jaeger's older clients write it as one number, which may be negative in Java."""
    digits = str(address)
    is_number = digits.removeprefix("-").isdecimal() and -(1 << 31) <= int(digits) < 1 << 32
    return str(IPv4Address(int(digits) % (1 << 32))) if is_number else digits


def _peer(name: str, value: str) -> str:
    if name in CLUSTERS:
        return cluster_host(value)
    if name in SERVICES:
        return shown_name(_PORT.sub("", value) if value.count(":") == 1 else value)
    if name in URLS and not (_SCHEME.match(value) or value.startswith("//") or _HOST_AND_PATH.match(value)):
        return ""  # a relative URL has no host
    return shown_name(host_of(value))


@lru_cache(maxsize=4096)
def cluster_host(cluster: str) -> str:
    """Extracts the host from an Envoy cluster's name, such as `outbound|443||pay.example.com`; empty without a host."""
    if cluster in NOWHERE or cluster in LOCAL_APPLICATIONS or cluster.startswith(INBOUND):
        return ""
    name = cluster.rpartition("|")[2] if "|" in cluster else cluster
    if name.startswith("outbound_."):
        name = name.rpartition("_.")[2]
    return shown_name(name)


@lru_cache(maxsize=4096)
def host_of(text: str) -> str:
    """Extracts the host of a URL, a gRPC target or an address: without scheme, user, port and path."""
    rest = text.strip()
    if target := _TARGET.fullmatch(rest):
        rest = target["target"].partition(",")[0]
    elif scheme := _SCHEME.match(rest):
        rest = rest[scheme.end() :]
    elif rest.startswith("//"):
        rest = rest[2:]
    elif rest.startswith(("/", "unix:")):
        return intern(rest)  # a socket in the file system
    rest = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    if rest.startswith("["):
        rest = rest[1:].partition("]")[0]
    elif rest.count(":") == 1:
        rest = _PORT.sub("", rest)
    rest = rest.lower().rstrip(".")
    if rest.startswith("::ffff:") and "." in rest:
        rest = rest.removeprefix("::ffff:")  # as Node.js writes IPv4
    return intern(rest)
