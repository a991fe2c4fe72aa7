from __future__ import annotations

import json

import pytest

from mesh.components.trial import as_it_runs, entrance, network_of, require_fit
from mesh.description.network import Network
from mesh.description.ports import load_ports
from mesh.description.switches import SWITCHES, Switches, aborts_in_words, delays_in_words, parse_switches
from mesh.description.topology import load_topology
from mesh.errors import SwitchError

PORTS = load_ports({})


def test_defaults() -> None:
    assert parse_switches() == Switches(
        edge="envoy", mesh="none", mtls="off", store="postgres", trace=0.2, scale=1, http=2, rtt_ms=None, connections=4
    )


def test_given() -> None:
    found = parse_switches(edge="none", store="memory", trace="1", scale="3", http="1", connections="1000")
    assert found == Switches(edge="none", store="memory", trace=1.0, scale=3, http=1, connections=1000)
    assert parse_switches(edge="none") == Switches(edge="none", http=1)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("payment:2ms", {"payment": 2.0}),
        ("payment:2ms, product:500us", {"payment": 2.0, "product": 0.5}),
        ("graphql-gateway:0.25ms", {"graphql-gateway": 0.25}),
        ("rest-gateway:1s,user:1us", {"rest-gateway": 1000.0, "user": 0.001}),
        ("", {}),
    ],
)
def test_delays(given: str, found: dict[str, float]) -> None:
    switches = parse_switches(delay=given)
    assert switches.delay_ms == found
    assert switches.as_dict()["delay_ms"] == found
    # As read back from a plan on disk.
    assert Switches(**json.loads(json.dumps(switches.as_dict()))) == switches


def test_implementations() -> None:
    assert parse_switches(implementation="product:go,user:python").implementation == {"product": "go", "user": "python"}


def test_holds() -> None:
    assert parse_switches(hold="order:20ms/10,product:500us/1").hold == {"order": (20.0, 10), "product": (0.5, 1)}


def test_empty_stands_for_the_default() -> None:
    assert parse_switches(edge="", trace="", scale="", http="", rtt="", connections="") == Switches()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(
            (name, "other", f"{name}=other is unknown; valid: {switch.valid.replace(' or ', ', ')}")
            for name, switch in SWITCHES.items()
            if " or " in switch.valid
        ),
        ("mtls", "on", "mtls=on needs a mesh, whose sidecars do this; give mesh=envoy or mesh=istio too"),
        ("canary", "101", "canary=101: must be an integer from 0 to 100"),
        ("canary", "10", "canary=10 needs a mesh"),
        ("abort", "payment:1%", "abort=payment:1% needs a mesh"),
        ("abort", "payment:1", "payment:1 is not an abort; give comma-separated COMPONENT:PERCENT"),
        ("abort", "payment:0%", "payment:0% is out of range; valid: 0.0001% to 100%"),
        ("abort", "payment:101%", "out of range"),
        ("replicas", "product", "product is not a number of replicas; give comma-separated COMPONENT:N pairs"),
        ("replicas", "product:0", "product:0 is out of range; valid: 1 to 8"),
        ("replicas", "product:9", "product:9 is out of range; valid: 1 to 8"),
        ("replicas", "product:-1", "product:-1 is not a number of replicas"),
        ("replicas", "product:2,product:3", "product is given twice"),
        ("replicas", "edge:2", "edge is an unknown component; valid: product, user, payment, order, notification, "),
        (
            "apart",
            "Bulk lines",
            "apart=Bulk lines is not a kind of journey; give a kind in the workload, such as bulk_lines",
        ),
        ("trace", "1.1", "trace=1.1: must be a number from 0 .* to 1"),
        ("trace", "-0.1", "from 0"),
        ("trace", "nan", "from 0"),
        ("trace", "some", "trace=some"),
        ("scale", "0", "scale=0: must be an integer from 1 to 100"),
        ("scale", "1.5", "scale=1.5: must be an integer"),
        ("http", "4", "http=4 is unknown; valid: 1, 2, 3"),
        ("connections", "0", "connections=0: must be an integer from 1 to 1000"),
        ("connections", "1001", "from 1 to 1000"),
        ("connections", "-4", "from 1 to 1000"),
        ("connections", "many", "connections=many"),
        ("delay", "edge:2ms", "edge is an unknown component"),
        ("delay", "payment", "payment is not a delay; give comma-separated COMPONENT:TIME"),
        ("delay", "payment:2", "payment:2 is not a delay"),
        ("delay", "payment:2m", "payment:2m is not a delay"),
        ("delay", "payment:-2ms", "payment:-2ms is not a delay"),
        ("delay", "payment:nanms", "is not a delay"),
        ("delay", "payment:²ms", "is not a delay"),
        ("delay", "payment:2ms,", "an empty item is not a delay"),
        ("delay", "payment:2ms,payment:1ms", "payment is given twice"),
        ("delay", "payment:0.0001us", "out of range; valid: 0, or 1us to 1s"),
        ("delay", "payment:0.1us", "out of range"),
        ("delay", "payment:1.001s", "out of range; .* to 1s"),
        (
            "implementation",
            "product",
            "product is not an implementation; give comma-separated COMPONENT:LANGUAGE pairs",
        ),
        ("implementation", "product:rust", "product:rust is unknown; valid languages: python, go"),
        ("hold", "order:20ms", "order:20ms is not a hold; give comma-separated COMPONENT:TIME/N pairs"),
        ("hold", "order:20/10", "order:20/10 is not a hold"),
        ("hold", "order:0/10", "order:0/10 is out of range; valid: 1us to 1s, at every request"),
        ("hold", "order:20ms/0", "out of range"),
        ("network", "6g", "network=6g is unknown; valid: loopback, lan, wifi, 5g, 4g, 3g"),
        ("rtt", "-1", "rtt=-1 is not a round-trip time from 0ms to 2s, such as 40ms or 0.5ms"),
        ("rtt", "2h", "rtt=2h is not a round-trip time from 0ms to 2s"),
        ("rtt", "2.001s", "not a round-trip time from 0ms to 2s"),
        ("rtt", "20", "not a round-trip time"),
        ("bandwidth", "0", "bandwidth=0 is not of the form DOWN/UP, such as 10mbit/2mbit, each from 10kbit to 10gbit"),
        ("bandwidth", "10mbit/0mbit", "each from 10kbit to 10gbit"),
        ("bandwidth", "9kbit", "each from 10kbit to 10gbit"),
        ("bandwidth", "11gbit", "each from 10kbit to 10gbit"),
        ("bandwidth", "1mbit/1mbit/1mbit", "not of the form DOWN/UP"),
        ("bandwidth", "10mbit/", "not of the form DOWN/UP"),
        ("visit", "first", "visit=first needs a network; give network, rtt or bandwidth too, or visit=warm"),
    ],
)
def test_bad_value_names_itself_and_the_choices(name: str, value: str, message: str) -> None:
    with pytest.raises(SwitchError, match=message):
        parse_switches(**{name: value})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"edge": "none", "http": "1"}, "apart=bulk_lines needs an edge"),
        ({"mesh": "envoy"}, "apart=bulk_lines with mesh=envoy: .*; give mesh=none"),
        ({"store": "memory"}, "apart=bulk_lines with store=memory: .*; give store=postgres"),
        ({"runtime": "kubernetes"}, "apart=bulk_lines with runtime=kubernetes: .*; give runtime=native"),
    ],
)
def test_separate_components_need_an_edge_this_machine_and_one_database(given: dict[str, str], message: str) -> None:
    assert parse_switches(apart="bulk_lines", edge="kong").apart == "bulk_lines"
    with pytest.raises(SwitchError, match=message):
        parse_switches(apart="bulk_lines", **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"connections": "8"}, "reuse=off with connections=8: each request opens its own connection; leave conn"),
        ({"network": "4g"}, "reuse=off with visit=warm: connections of a warm visit are open already; give visit="),
    ],
)
def test_a_connection_for_each_request(given: dict[str, str], message: str) -> None:
    for taken in ({}, {"http": "3"}, {"edge": "none", "http": "1"}, {"network": "4g", "visit": "first"}):
        assert parse_switches(reuse="off", **taken).reuse == "off"
    with pytest.raises(SwitchError, match=message):
        parse_switches(reuse="off", **given)


def test_first_visits_have_no_client_cache() -> None:
    assert parse_switches(client_cache="on", network="4g").client_cache == "on"
    with pytest.raises(
        SwitchError, match="client_cache=on with visit=first: new customers have no cached answers to revalidate"
    ):
        parse_switches(client_cache="on", network="4g", visit="first")


def test_tls_ends_at_the_edge() -> None:
    assert parse_switches(tls="on").scheme == "https"
    assert parse_switches(tls="off").scheme == "http"
    with pytest.raises(SwitchError, match="tls=on needs an edge; give edge=envoy or edge=kong, or tls=off"):
        parse_switches(tls="on", edge="none", http="1")
    with pytest.raises(SwitchError, match="tls=on with runtime=kubernetes: the load's pods reach the edge without TLS"):
        parse_switches(tls="on", runtime="kubernetes")


def test_http_3_is_quic() -> None:
    assert parse_switches(http="3") == Switches(http=3, tls="on")
    assert parse_switches(http="3", tls="on") == Switches(http=3, tls="on")
    for given, message in (
        ({"tls": "off"}, "http=3 with tls=off: QUIC is always encrypted; give tls=on or leave it out, or http=2"),
        ({"edge": "kong"}, "http=3 with edge=kong, which speaks HTTP/1.1 and 2 only; give edge=envoy, or http=2"),
        ({"edge": "none"}, "edge=none needs http=1"),
        ({"runtime": "kubernetes"}, "http=3 with runtime=kubernetes: the load's pods reach the edge without TLS"),
    ):
        with pytest.raises(SwitchError, match=message):
            parse_switches(http="3", **given)


def test_clients_that_speak_grpc_only_have_no_http_3() -> None:
    with pytest.raises(
        SwitchError, match="http=3: the clients of grpc speak only gRPC, which always uses HTTP/2; valid"
    ):
        require_fit(load_topology("grpc"), parse_switches(http="3"))
    for name in ("rest", "graphql", "hybrid", "hybrid-transcoded"):
        require_fit(load_topology(name), parse_switches(http="3"))


def test_grpc_by_connect_go_needs_http_2() -> None:
    topology = load_topology("grpc-connect-client")
    assert as_it_runs(topology, parse_switches(http="1")).http == 2
    with pytest.raises(SwitchError, match=r"http=3: clients of .* speak gRPC through connect-go.*: 2\."):
        require_fit(topology, as_it_runs(topology, parse_switches(http="3")))


def test_a_mesh_s_switches() -> None:
    found = parse_switches(mesh="istio", mtls="on", canary="10", delay="payment:2ms", abort="payment:1%, user:0.5%")
    assert (found.meshed, found.encrypted, found.canary) == (True, True, 10)
    assert found.abort_share == {"payment": 0.01, "user": 0.005}
    assert aborts_in_words(found.abort_share) == "1 % of calls to payment, 0.5 % of calls to user"
    assert Switches(**json.loads(json.dumps(found.as_dict()))) == found
    assert parse_switches(mesh="none", mtls="off", canary="0") == Switches()


NO_EDGE = {"edge": "none", "http": "1"}


@pytest.mark.parametrize(
    ("given", "message", "instead"),
    [
        (NO_EDGE | {"http": "2"}, "edge=none needs http=1: without an edge, clients reach gateways", {"http": ""}),
        (NO_EDGE | {"mesh": "envoy"}, "edge=none with mesh=envoy: clients are outside of the mesh", {"mesh": "none"}),
        ({"mesh": "envoy", "canary": "10", "store": "memory"},
         "store=memory with canary=10: two product services would keep two stocks", {"canary": "0"}),
        ({"cache": "valkey", "store": "memory"},
         "cache=valkey with store=memory: .*; give store=postgres, or cache=none", {"cache": "none"}),
        ({"cache": "valkey", "runtime": "kubernetes"},
         "cache=valkey with runtime=kubernetes: .*; give runtime=native, or cache=none", {"cache": "none"}),
        ({"mesh": "istio", "istiod": "leave", "runtime": "kubernetes"},
         "runtime=kubernetes with istiod=leave: Kubernetes restarts .*; give istiod=restart", {"runtime": "native"}),
        ({"edge_cache": "varnish", "http": "3"},
         "http=3 with edge_cache=varnish: Varnish speaks HTTP/1.1 and HTTP/2 only; give http=1 or", {"http": "2"}),
        ({"edge_cache": "varnish", "tls": "on"},
         "tls=on with edge_cache=varnish: Varnish speaks no TLS.*; give tls=off, or edge_cache=none", {"tls": "off"}),
        ({"edge_cache": "varnish", "mesh": "envoy"}, "mesh=envoy with edge_cache=varnish: ", {"mesh": "none"}),
        ({"edge_cache": "varnish", "runtime": "kubernetes"}, "runtime=kubernetes with edge_c", {"runtime": "native"}),
        ({"edge_cache": "varnish", "updates": "on"}, "updates=on with edge_cache=varnish: ", {"updates": "off"}),
        ({"edge_cache": "varnish", "admission": "on"}, "admission=on with edge_cache=v", {"admission": "off"}),
        ({"edge_cache": "varnish", "rtt": "40ms", "visit": "first"}, "visit=first with edge_", {"visit": "warm"}),
        (NO_EDGE | {"edge_cache": "varnish"}, "edge_cache=varnish needs an edge", {"edge": "kong"}),
        ({"store": "memory", "replicas": "product:2,rest-gateway:2"},
         "store=memory with replicas of product: each replica would keep separate", {"replicas": "rest-gateway:2"}),
        ({"store": "memory", "updates": "on"},
         "store=memory with updates=on: .*; give store=postgres, or updates=off", {"updates": "off"}),
        (NO_EDGE | {"replicas": "product:2,rest-gateway:2"},
         "edge=none with replicas of rest-gateway: without an edge, nothing balances", {"replicas": "product:2"}),
        ({"mesh": "istio", "delay": "payment:2ms,user:500us"},
         r"delay=user:0\.5ms: Istio injects delays of 1 ms or more", {"mesh": "envoy"}),
    ],
)  # fmt: skip
def test_the_error_for_a_conflict_names_both(given: dict[str, str], message: str, instead: dict[str, str]) -> None:
    with pytest.raises(SwitchError, match=message):
        parse_switches(**given)
    parse_switches(**given | instead)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        *[(name, NO_EDGE, f"edge=none: {name} has clients that reach services without a gateway")
          for name in ("rest", "grpc", "hybrid-transcoded")],
        ("rest", {"replicas": "rest-gateway:2,product:2"},
         "replicas=rest-gateway: rest does not run rest-gateway; it runs product"),
        ("rest", {"delay": "graphql-gateway:2ms,user:2ms"},
         "delay=graphql-gateway: rest does not run graphql-gateway; it runs product"),
    ],
)  # fmt: skip
def test_the_error_names_what_a_topology_lacks_and_hybrid_has(name: str, given: dict[str, str], message: str) -> None:
    switches = parse_switches(**given)
    with pytest.raises(SwitchError, match=message):
        require_fit(load_topology(name), switches)
    require_fit(load_topology("hybrid"), switches)


def test_a_system_with_updates_has_the_service_that_they_come_from() -> None:
    switches = parse_switches(updates="on")
    with pytest.raises(SwitchError, match="updates=on: hybrid has no notification service; valid with hybrid: off"):
        require_fit(load_topology("hybrid"), switches)
    require_fit(load_topology("hybrid", updates=switches.updates), switches)


def test_replicas() -> None:
    found = parse_switches(replicas="graphql-gateway:2, product:3, user:1")
    assert found.replicas == {"graphql-gateway": 2, "product": 3}
    assert Switches(**json.loads(json.dumps(found.as_dict()))) == found
    assert parse_switches(replicas="product:1") == Switches()


def test_an_unknown_switch_is_a_programming_error() -> None:
    with pytest.raises(KeyError, match="speed"):
        parse_switches(speed="2")


@pytest.mark.parametrize(
    ("given", "network"),
    [
        ({"network": "4g"}, Network("4g")),
        ({"network": "4g", "rtt": "500us"}, Network("4g", 0.5)),
        ({"rtt": "2s"}, Network(rtt_ms=2000.0)),
        ({"rtt": "0ms"}, Network(rtt_ms=0.0)),
        ({"network": "loopback", "bandwidth": "1.6mbit/768kbit"}, Network(bandwidth="1.6mbit/768kbit")),
    ],
)
def test_a_network_brings_tls(given: dict[str, str], network: Network) -> None:
    switches = parse_switches(**given)
    assert switches.customers_network == network
    assert switches.emulates_network
    assert (switches.tls, switches.visit) == ("on", "warm")
    assert Switches(**json.loads(json.dumps(switches.as_dict()))) == switches
    first = parse_switches(**given, visit="first", tls="off")
    assert (first.tls, first.visit) == ("off", "first")


def test_the_loopback_is_not_emulated() -> None:
    assert parse_switches(network="loopback", visit="warm") == Switches()
    assert not Switches().emulates_network


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"edge": "none", "http": "1"},
            "rtt=40ms with edge=none: customers at a distance .* needs an edge; .* or tls=off",
        ),
        ({"edge": "none", "http": "1", "tls": "on"}, "tls=on needs an edge"),
        ({"runtime": "kubernetes"}, "rtt=40ms with runtime=kubernetes: .* give runtime=native, or network=loopback"),
        ({"http": "3", "tls": "off"}, "http=3 with tls=off"),
    ],
)
def test_switches_that_exclude_a_network(given: dict[str, str], message: str) -> None:
    with pytest.raises(SwitchError, match=message):
        parse_switches(rtt="40ms", **given)
    assert parse_switches(rtt="40ms", edge="none", http="1", tls="off").emulates_network


def test_a_switch_overrides_the_workload_s_networks() -> None:
    networks = {"web": Network("wifi"), "mobile": Network("4g", 90.0), "partner": Network()}
    switches = parse_switches(networks)
    assert (switches.networks, switches.tls, switches.emulates_network) == (networks, "on", True)
    assert parse_switches(networks, rtt="40ms") == parse_switches(rtt="40ms")
    assert parse_switches(networks, network="loopback") == Switches()
    assert parse_switches(networks, visit="first").visit == "first"
    with pytest.raises(SwitchError, match="the workload's networks with runtime=kubernetes"):
        parse_switches(networks, runtime="kubernetes")


@pytest.mark.parametrize("name", ["delay", "rtt"])
def test_zero_needs_no_unit(name: str) -> None:
    zeros = {"delay": ("payment:0", "payment:0ms"), "rtt": ("0", "0ms")}[name]
    assert len({str(parse_switches(**{name: zero})) for zero in zeros}) == 1
    assert parse_switches(delay="payment:0") == Switches()


def test_delays_in_words() -> None:
    assert delays_in_words({}) == ""
    assert delays_in_words({"payment": 2.0, "product": 0.5}) == "payment by 2 ms, product by 0.5 ms"


def test_framed_thrift_runs_without_an_edge() -> None:
    topology = load_topology("thrift")
    runs = as_it_runs(topology, parse_switches())
    assert (runs.edge, runs.http) == ("none", 1)
    require_fit(topology, runs)
    for given in ({"mesh": "envoy"}, {"tls": "on"}, {"plugins": "all"}, {"apart": "bulk_lines"}, {"edge": "kong"}, {}):
        name, value = next(iter(given.items()), ("edge", "envoy"))
        with pytest.raises(SwitchError, match=f"{name}={value}: thrift speaks framed Thrift, which goes straight"):
            require_fit(topology, parse_switches(**given))
    over_http = load_topology("thrift-json")
    assert as_it_runs(over_http, parse_switches()) == parse_switches()
    require_fit(over_http, parse_switches(mesh="envoy"))


@pytest.mark.parametrize(
    ("name", "spoken"), [("thrift", "thrift"), ("thrift-json", "thrift-json"), ("hybrid-transcoded", "rest-transcoded")]
)
def test_clients_without_masks_cannot_select(name: str, spoken: str) -> None:
    topology = load_topology(name)
    with pytest.raises(SwitchError, match=f"speak {spoken}, without .* valid with .*: graphql, off"):
        require_fit(topology, as_it_runs(topology, parse_switches(selection="all")))
    require_fit(topology, as_it_runs(topology, parse_switches(selection="off")))
    require_fit(load_topology("hybrid"), parse_switches(selection="all"))


def test_documents_for_services_select_only_shown_fields() -> None:
    with pytest.raises(SwitchError, match=r"selection=off: clients of graphql-direct .* graphql-direct: graphql\."):
        require_fit(load_topology("graphql-direct"), parse_switches(selection="off"))


def test_the_network_lies_behind_a_shared_cache_without_tls() -> None:
    far = parse_switches(edge_cache="varnish", rtt="100ms")
    assert (far.tls, far.emulates_network) == ("off", True)
    assert network_of(far) == {}
    assert network_of(parse_switches(rtt="100ms"))["networks"]["web"]["rtt_ms"] == 100
    assert entrance(far, PORTS, "rest-gateway") == PORTS.url("edge-cache")
    with pytest.raises(SwitchError, match="edge_cache=varnish with the workload's networks: all channels share"):
        parse_switches({"web": Network("4g")}, edge_cache="varnish")


@pytest.mark.parametrize("name", ["rest", "rest-naive", "rest-bff", "graphql", "hybrid", "hybrid-transcoded"])
def test_a_shared_cache_keeps_answers_to_get(name: str) -> None:
    require_fit(load_topology(name), parse_switches(edge_cache="varnish"))


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("grpc", {}, "cannot keep any answer of grpc: gRPC's calls are POST requests over HTTP/2"),
        (
            "graphql-direct",
            {},
            "cannot keep any answer of graphql-direct: the services' own GraphQL marks no answer as public",
        ),
        ("federation", {}, "edge_cache=varnish"),
        ("grpc-web", {}, "cannot keep any answer of grpc-web: the calls of grpc-web are POST requests"),
        ("rest-go", {}, "edge_cache=varnish with rest-go"),
        ("thrift-json", {}, "cannot keep any answer of thrift-json: Thrift's calls are POST requests; valid with"),
        ("graphql", {"persisted": "off"}, "persisted=off: .* are POST requests.*; give persisted=on"),
        ("hybrid-go", {}, "edge_cache=varnish with hybrid-go"),
    ],
)
def test_a_shared_cache_that_could_keep_nothing_is_refused(name: str, given: dict[str, str], reason: str) -> None:
    with pytest.raises(SwitchError, match=reason):
        require_fit(load_topology(name), parse_switches(edge_cache="varnish", **given))
