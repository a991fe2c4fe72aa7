"""Which callee a call names, in the attributes of many tracers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of
from hops.traces.peers import PEERS, Services, host_of, lean, peer_of
from hops.traces.span import NO_ATTRIBUTES, Kind

CALLED = {
    "OpenTelemetry for Python": ({"http.url": "https://pay.example.com/v1/charge"}, "pay.example.com"),
    "OpenTelemetry for .NET": ({"url.full": "https://pay.example.com:8443/v1?id=*"}, "pay.example.com"),
    "a user and a password": ({"url.full": "https://REDACTED:REDACTED@pay.example.com/"}, "pay.example.com"),
    "IPv6 in brackets": ({"http.url": "http://[2001:db8::7]:8080/v1"}, "2001:db8::7"),
    "IPv6 alone": ({"net.peer.ip": "2001:db8::7"}, "2001:db8::7"),
    "IPv4 as Node.js writes it": ({"net.peer.ip": "::ffff:192.0.2.7"}, "192.0.2.7"),
    "a relative URL and a host": ({"http.url": "/v1/charge", "http.host": "pay.example.com:443"}, "pay.example.com"),
    "a relative URL alone": ({"http.url": "/v1/charge"}, ""),
    "a URL without a scheme": ({"http.url": "//Pay.Example.com./v1"}, "pay.example.com"),
    "a target of gRPC's": ({"server.address": "dns:///pay.example.com:443"}, "pay.example.com"),
    "addresses of gRPC's": ({"server.address": "ipv4:192.0.2.7:443,192.0.2.8:443"}, "192.0.2.7"),
    "a socket": ({"net.peer.name": "/run/pay.sock"}, "/run/pay.sock"),
    "OpenTracing": ({"peer.address": "192.0.2.7:443"}, "192.0.2.7"),
    "Datadog": ({"out.host": "pay.example.com", "peer.ipv4": "192.0.2.7"}, "pay.example.com"),
    "a URL without a scheme but a host": ({"http.url": "pay.example.com/v1"}, "pay.example.com"),
    "a relative path": ({"http.url": "v1/charge.json"}, ""),
    "an address in one number": ({"peer.ipv4": 3221225991}, "192.0.2.7"),
    "an address in a negative number": ({"peer.ipv4": -1073741305}, "192.0.2.7"),
    "Zipkin": ({"peer.ipv4": "192.0.2.7"}, "192.0.2.7"),
    "a service and its host": ({"server.address": "10.0.0.7", "service.peer.name": "Pay"}, "Pay"),
    "a host and its address": ({"network.peer.address": "192.0.2.7", "url.full": "https://pay/"}, "pay"),
    "a GraphQL gateway": ({"hive.graphql.subgraph.name": "pay", "url.full": "http://10.0.0.7/"}, "pay"),
    "Istio": ({"upstream_cluster": "outbound|443|v1|pay.example.com", "http.url": "https://shop/"}, "pay.example.com"),
    "Istio's gateways": ({"upstream_cluster": "outbound_.443_._.pay.example.com"}, "pay.example.com"),
    "Envoy": ({"upstream_cluster.name": "pay", "peer.address": "10.1.2.3:555"}, "pay"),
    "Istio, to nobody that it knows": (
        {"upstream_cluster": "PassthroughCluster", "http.url": "https://pay.example.com/"}, "pay.example.com"
    ),
    "Istio, to the application": ({"upstream_cluster": "inbound|80||", "http.url": "https://pay.example.com/"}, ""),
    "a proxy that names its caller": ({"component": "proxy", "peer.address": "10.1.2.3:555"}, ""),
    "nothing": ({"peer.service": "", "http.host": "-:"}, "-"),
}  # fmt: skip


ONE_CALL = """
shop order     SERVER 0..100
`- shop POST    CLIENT 10..60
"""


@pytest.mark.parametrize(("attributes", "peer"), CALLED.values(), ids=CALLED)
def test_the_first_attribute_that_names_anybody_counts(draw, attributes, peer):
    root, call = draw(ONE_CALL)
    call = replace(call, attributes=attributes)
    assert peer_of(call) == peer
    if peer:
        tree = tree_of([root, call])
        assert dict(budget_of_any(tree).parts) == {"work:shop": 50, f"external:shop→{peer}": 50}
        assert tree.quality.complete


@pytest.mark.parametrize("name", PEERS)
def test_each_attribute_is_enough_alone(draw, name):
    root, call = draw(ONE_CALL)
    value = "https://pay.example.com/v1" if name in ("url.full", "http.url") else "pay.example.com"
    attributes = {name: value} | ({"upstream_cluster": "-"} if name == "upstream_address" else {})
    tree = tree_of([root, replace(call, attributes=attributes)])
    assert dict(budget_of_any(tree).parts) == {"work:shop": 50, "external:shop→pay.example.com": 50}


def test_istios_services_have_their_namespace_behind_their_name():
    services = Services(["reviews.default", "api.example.com"])
    for peer in ("reviews", "reviews.default", "reviews.default.svc.cluster.local"):
        assert services.named_by(peer) == "reviews.default"
    assert services.named_by("reviews.example.com") == services.named_by("api") == services.named_by("") == ""


ONE_CALL_OF_SEVERAL_SPANS = {
    # The library's time around the request belongs to the same part.
    "a library's span over that of its HTTP client": ("""
shop order          SERVER 0..100
`- shop PutObject    CLIENT 10..90
   `- shop retry      INTERNAL 15..85
      `- shop PUT      CLIENT 20..80 url.full=https://s3.example.com/bucket
""", {"work:shop": 30, "external:shop→s3.example.com": 70}, 0),
    "of a library and its HTTP client the better name counts": ("""
shop order          SERVER 0..100
|- shop PutObject    CLIENT 10..40 peer.service=storage
|  `- shop PUT        CLIENT 20..30 url.full=https://s3.example.com/bucket
`- shop search       CLIENT 50..90 db.system=elasticsearch
   `- shop POST       CLIENT 60..80 url.full=http://10.0.0.7:9200/
""", {"work:shop": 30, "external:shop→storage": 30, "db:shop": 40}, 0),
    "a lost answer to a library and its HTTP client": ("""
shop order          SERVER 0..100
`- shop Charge       CLIENT 10..90
   `- shop POST       CLIENT 20..80
""", {"work:shop": 20, "unattributed": 80}, 1),
    # Two requests of one library: the longer request names the callee, and the other keeps its own name.
    "a call and the token that it took": ("""
shop order          SERVER 0..100
`- shop Charge       CLIENT 10..90
   |- shop POST       CLIENT 20..30 url.full=https://login.example.com/token
   `- shop POST       CLIENT 40..80 url.full=https://pay.example.com/charge
""", {"work:shop": 20, "external:shop→login.example.com": 10, "external:shop→pay.example.com": 70}, 0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("drawing", "parts", "missing"), ONE_CALL_OF_SEVERAL_SPANS.values(), ids=ONE_CALL_OF_SEVERAL_SPANS
)
def test_several_spans_of_one_call_are_one(draw, drawing, parts, missing):
    budget = budget_of_any(tree_of(draw(drawing)))
    assert dict(budget.parts) == parts
    assert dict(budget.crossings) == dict.fromkeys(parts, 1)
    assert budget.quality.missing_servers == missing


def test_spans_keep_only_what_a_budget_needs():
    attributes = {"url.full": "https://shop/", "component": "net/http", "server.address": "shop"}
    assert lean(dict(attributes), Kind.SERVER) is NO_ATTRIBUTES
    assert lean(dict(attributes), Kind.CLIENT) == {"url.full": "https://shop/", "server.address": "shop"}
    proxys = {"component": "proxy", "upstream_cluster": "inbound|80||"}
    assert lean(dict(proxys), Kind.SERVER) == proxys


def test_a_host_without_a_port_stays():
    assert host_of("pay") == host_of(" PAY: ") == host_of("http://pay?x=1") == "pay"
