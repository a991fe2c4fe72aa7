"""CLIENT spans that call nobody: no answer is missing, and their time is their component's."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of

NOBODY = {
    "Node.js, dns": ("dns.lookup", {"peer.ipv4": "192.0.2.7"}),
    "Node.js, net": ("tcp.connect", {"net.peer.name": "pay", "net.peer.ip": "192.0.2.7"}),
    "Node.js, tls": ("tls.connect", {"net.peer.name": "pay"}),
    "Kong": ("kong.dns", {"dns.record.domain": "orders.local"}),
    "Go, name": ("http.dns", {}),
    "Go, connection": ("http.getconn", {"net.host.name": "pay"}),
    "Go, opening": ("http.connect", {}),
    "Go, encryption": ("http.tls", {}),
    "Netty, name": ("RESOLVE", {"net.peer.name": "pay"}),
    "Netty, opening": ("CONNECT", {"server.address": "pay"}),
    "Netty, encryption": ("SSL handshake", {"server.address": "pay"}),
    ".NET, name": ("DNS lookup pay.example.com", {"dns.question.name": "pay.example.com"}),
    ".NET, opening": ("socket connect 192.0.2.7:443", {"network.peer.address": "192.0.2.7"}),
    ".NET, encryption": ("TLS client handshake pay.example.com", {}),
    ".NET, waiting": ("HTTP wait_for_connection pay.example.com:443", {}),
    "a resolver of somebody's": ("question", {"dns.question.name": "pay.example.com"}),
    "a pool": ("pool.acquire", {}),
    "Hikari": ("HikariDataSource.getConnection", {}),
}
CALLS = {
    "a route": ("POST /dns", {"url.full": "https://pay.example.com/dns"}),
    "a method": ("pay.Dns/Lookup", {"rpc.system": "grpc"}),
    "a tunnel's request": ("CONNECT", {"http.url": "http://proxy.example.com/"}),
    "a service of that name": ("dnsmasq", {}),
    "a statement": ("connect", {"db.system": "postgresql"}),
}

DRAWING = """
kong request        SERVER 0..100
|- kong name         CLIENT 4..9
`- kong balancer     CLIENT 10..90
   `- orders get      SERVER 12..88
"""


@pytest.mark.parametrize(("name", "attributes"), NOBODY.values(), ids=NOBODY)
def test_what_a_client_does_itself_is_its_own_time(draw, name, attributes):
    root, local, *rest = draw(DRAWING)
    tree = tree_of([root, replace(local, name=name, attributes=attributes), *rest])
    budget = budget_of_any(tree)
    assert dict(budget.parts) == {"work:kong": 20, "wire:kong→orders": 4, "work:orders": 76}
    assert dict(budget.crossings) == {"work:kong": 1, "wire:kong→orders": 1, "work:orders": 1}
    assert tree.quality.complete


@pytest.mark.parametrize(("name", "attributes"), CALLS.values(), ids=CALLS)
def test_a_request_is_a_call_under_any_name(draw, name, attributes):
    root, call, *rest = draw(DRAWING)
    budget = budget_of_any(tree_of([root, replace(call, name=name, attributes=attributes), *rest]))
    assert budget.parts["work:kong"] == 15


def test_an_answered_span_is_a_call_under_any_name(draw):
    spans = draw("""
shop get           SERVER 0..100
`- shop dns.lookup  CLIENT 10..90
   `- names query    SERVER 20..80
""")
    assert dict(budget_of_any(tree_of(spans)).parts) == {"work:shop": 20, "wire:shop→names": 20, "work:names": 60}


def test_what_a_client_does_below_its_call(draw):
    """Go's `httptrace` and Node.js write such spans: work on the way to the answer, which belongs to the caller."""
    spans = draw("""
shop get              SERVER 0..100
`- shop GET            CLIENT 10..90
   |- shop http.getconn CLIENT 12..30
   |  |- shop http.dns   CLIENT 12..18
   |  `- shop http.tls   CLIENT 20..30
   |- stock get          SERVER 40..80
   `- shop http.receive  CLIENT 85..90
""")
    tree = tree_of(spans)
    assert dict(budget_of_any(tree).parts) == {"work:shop": 43, "wire:shop→stock": 17, "work:stock": 40}
    assert tree.quality.complete
