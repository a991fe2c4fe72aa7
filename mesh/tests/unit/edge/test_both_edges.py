"""Kong and Envoy must behave as the same edge: their configurations, read by each program's rules, mean the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from mesh.description.ports import load_ports
from mesh.description.replies import GRAPHQL_TYPE
from mesh.description.switches import SWITCHES
from mesh.description.topology import Topology, load_topology, names, parse_topology
from mesh.edge import envoy, kong, limits
from mesh.edge.admission import OPENINGS
from mesh.edge.plan import EdgePlan
from mesh.edge.plugins import REQUEST_ID, REQUESTS_PER_S
from mesh.errors import SwitchError
from shop.platform.access.streams import BURSTS, MAX_PER_PARTNER, REOPEN_S

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})
OWN = """
name: own
about: GraphQL for web, the services' REST APIs for everybody else.
entry: {web: graphql-gateway, mobile: services, partner: services}
links:
  client: {product: rest, order: rest, user: rest, payment: rest}
  graphql-gateway: {product: grpc, order: rest, user: graphql, payment: grpc}
  order: {product: grpc, user: grpc, payment: grpc}
"""
TOPOLOGIES = {
    **{name: one for name in names() if not ((one := load_topology(name)).needs_envoy or one.passes_by_the_edge)},
    "own": parse_topology(OWN, "own.yaml"),
}
HEALTH = "the edge itself"


def plan(topology: Topology, plugins: str = "none") -> EdgePlan:
    key = Ed25519PrivateKey.generate().public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return EdgePlan(topology, PORTS, Path("/logs/edge.jsonl"), plugins=plugins, jwt_public_key=pem)


ENVOYS = {name: envoy.render(plan(topology)) for name, topology in TOPOLOGIES.items()}
KONGS = {name: kong.render(plan(topology)) for name, topology in TOPOLOGIES.items()}


ORDERS, NOTIFICATIONS = "/v1/orders/17/events", "/v1/users/17/notifications/events"
LAST = [
    ("grpc", "notification", ["/shop.notification.v1.NotificationService/WatchOrder"]),
    ("rest", "notification", [ORDERS, NOTIFICATIONS]),
    ("graphql", "graphql-gateway", ["/graphql/stream"]),
    ("hybrid", "graphql-gateway", ["/graphql/stream"]),
    ("hybrid", "rest-gateway", [ORDERS, NOTIFICATIONS]),
]


@pytest.mark.parametrize(("name", "component", "paths"), LAST)
def test_long_lived_answers_are_limited_by_silence_only(name: str, component: str, paths: list[str]) -> None:
    edge = plan(load_topology(name, updates="on"))
    config = envoy.render(edge)
    (host,) = manager(config)["route_config"]["virtual_hosts"]
    ways = [route["route"] for route in host["routes"] if route.get("route", {}).get("timeout") == "0s"]
    lasting = [route for route in ways if route["cluster"] == component]
    assert {route["idle_timeout"] for route in lasting} == {"45s"}
    for path in paths:
        assert (route_of_envoy(config, path) or {})["route"] in lasting
    sockets = [bool(route.get("upgrade_configs")) for route in lasting]
    assert sockets == [component == "graphql-gateway"] * len(lasting)
    services = {service["name"]: service for service in kong.render(edge)["services"]}
    streams = services[f"{component}-streams"]
    assert (streams["read_timeout"], services[component]["read_timeout"]) == (45_000, 5_000)
    assert len(streams["routes"]) == len(lasting)
    least = min(route["regex_priority"] for route in streams["routes"])
    assert all(route["regex_priority"] < least for route in services[component]["routes"])
    # Otherwise components, and the sidecars in between, would end the answer after the time limit for other answers.
    (after,) = [plugin["config"] for plugin in streams["plugins"] if plugin["name"] == "post-function"]
    assert limits.DEADLINE in after["access"][-1]
    assert not [plugin for plugin in services[component]["plugins"] if plugin["name"] == "post-function"]


@pytest.mark.parametrize(("name", "component"), [row[:2] for row in LAST])
def test_a_token_opens_streams_no_faster_than_a_partner_may(name: str, component: str) -> None:
    at_once, per_s = BURSTS * MAX_PER_PARTNER, BURSTS * MAX_PER_PARTNER / REOPEN_S
    edge = plan(load_topology(name, updates="on"))
    config = manager(envoy.render(edge))
    (host,) = config["route_config"]["virtual_hosts"]
    limited = [route["route"] for route in host["routes"] if OPENINGS in route.get("typed_per_filter_config", {})]
    assert limited == [route["route"] for route in host["routes"] if route.get("route", {}).get("timeout") == "0s"]
    first, *_ = config["http_filters"]
    assert (first["name"], first["disabled"]) == (OPENINGS, True)
    (descriptor,) = first["typed_config"]["descriptors"]
    assert descriptor["token_bucket"] == {
        "max_tokens": at_once,
        "tokens_per_fill": 1,
        "fill_interval": f"{1 / per_s:g}s",
    }
    services = {service["name"]: service for service in kong.render(edge)["services"]}
    (rate,) = [one["config"] for one in services[f"{component}-streams"]["plugins"] if one["name"] == "rate-limiting"]
    assert (rate["minute"], rate["header_name"]) == (at_once, "authorization")
    assert not [one for one in services[component]["plugins"] if one["name"] == "rate-limiting"]


def test_pages_for_people_exist_only_on_request() -> None:
    reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    assert (
        by_envoy(ENVOYS["grpc"], reflection)
        is by_kong(KONGS["grpc"], reflection)
        is by_kong(KONGS["grpc"], "/")
        is None
    )
    edge = replace(plan(TOPOLOGIES["grpc"]), page="<p>Hello</p>", describer="product")
    by_its_envoy, by_its_kong = envoy.render(edge), kong.render(edge)
    assert by_envoy(by_its_envoy, reflection) == by_kong(by_its_kong, reflection) == "product"
    (page,) = [route for route in by_its_kong["routes"] if route["name"] == "start-page"]
    assert (page["paths"], page["methods"]) == (["~/$"], ["GET", "HEAD"])
    (host,) = manager(by_its_envoy)["route_config"]["virtual_hosts"]
    (described,) = [route for route in host["routes"] if "reflection" in str(route["match"]) and "route" in route]
    assert described["typed_per_filter_config"][envoy.BUFFER]["disabled"]
    assert described["route"]["max_stream_duration"] == {"max_stream_duration": "10s"}
    refused = {one["name"] for one in lua_table(by_its_kong)["checked"] if one["below"] == limits.REFLECTIONS}
    assert refused == {"grpc-timeout", "grpc-encoding", ":method"}


def manager(config: Mapping[str, Any]) -> dict[str, Any]:
    (listener,) = config["static_resources"]["listeners"]
    read: dict[str, Any] = listener["filter_chains"][0]["filters"][0]["typed_config"]
    return read


def by_envoy(config: Mapping[str, Any], path: str) -> str | None:
    """Selects a component as Envoy does."""
    route = route_of_envoy(config, path)
    return None if route is None else route["route"]["cluster"] if "route" in route else HEALTH


def route_of_envoy(config: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """Selects a route as Envoy does: the first that matches."""
    (host,) = manager(config)["route_config"]["virtual_hosts"]
    for route in host["routes"]:
        match route["match"]:
            case {"headers": _} | {"connect_matcher": _}:
                continue  # these routes refuse a header or a method, at any path
            case {"path": whole}:
                matches = path == whole
            case {"path_separated_prefix": prefix}:
                matches = path == prefix or path.startswith(f"{prefix}/")
            case {"prefix": prefix}:
                matches = path.startswith(prefix)
            case {"safe_regex": {"regex": regex}}:
                matches = re.fullmatch(regex, path) is not None
            case other:
                pytest.fail(f"a match that this test does not know: {other}")
        if matches:
            return dict(route)
    return None


def by_kong(config: Mapping[str, Any], path: str) -> str | None:
    """Selects a component as Kong does: by the matching regular expression with the highest priority. All expressions
    are anchored at the path's beginning."""
    routes = [(route, HEALTH) for route in config["routes"]]
    routes += [(route, service["name"]) for service in config["services"] for route in service["routes"]]
    assert len({route["regex_priority"] for route, _ in routes}) == len(routes)
    for route, component in sorted(routes, key=lambda item: -item[0]["regex_priority"]):
        (pattern,) = route["paths"]
        assert pattern[0] == "~"
        if re.match(pattern[1:].removesuffix("$") + (r"\Z" if pattern.endswith("$") else ""), path):
            return str(component)
    return None


KNOWN = (
    *("/healthz", "/graphql", "/v1", "/docs", "/openapi.json", "/v1/products", "/v1/reviews", "/v1/product-rows"),
    *("/v1/users", "/v1/users/7/orders", "/v1/sessions", "/v1/orders", "/v1/orders/17:cancel", "/v1/order-lines"),
    *("/v1/payments", "/shop.user.v1.UserService/Login", "/shop.order.v1.OrderService/", "/shop.order.v1.OrderService"),
    *("/shop.product.v1.ProductService/GetProduct", "/shop.payment.v1.PaymentService/Void"),
    *("/graphql/product", "/graphql/order", "/graphql/user", "/graphql/payment"),
    *("/thrift/product", "/thrift/order", "/thrift/user", "/thrift/payment"),
)
PIECES = st.sampled_from(
    [*("/", ":", ".", "-", "7", "x", "json", "orders", "users", "%2F", "$", "(", "?:"), *(p.lstrip("/") for p in KNOWN)]
)
PATHS = st.one_of(
    st.sampled_from(KNOWN),
    st.builds(lambda known, more: known + "".join(more), st.sampled_from(KNOWN), st.lists(PIECES, max_size=3)),
    st.builds(lambda known, cut: known[: -cut or None], st.sampled_from(KNOWN), st.integers(0, 12)),
    st.builds(lambda pieces: "/" + "".join(pieces), st.lists(PIECES, max_size=6)),
    st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), max_size=12).map(lambda text: f"/{text}"),
)


@given(path=PATHS)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_path_leads_to_the_same_component(name: str, path: str) -> None:
    assert by_kong(KONGS[name], path) == by_envoy(ENVOYS[name], path)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_known_paths_lead_somewhere(name: str) -> None:
    reached = {by_kong(KONGS[name], path) for path in KNOWN} - {None}
    assert reached == {HEALTH, *TOPOLOGIES[name].behind_edge}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_components_are_reached_at_the_same_places(name: str) -> None:
    clusters = {
        cluster["name"]: cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]
        for cluster in ENVOYS[name]["static_resources"]["clusters"]
    }
    for service in KONGS[name]["services"]:
        address = clusters[service["name"]]["socket_address"]
        assert (service["host"], service["port"]) == (address["address"], address["port_value"])
        assert {protocol for route in service["routes"] for protocol in route["protocols"]} == {service["protocol"]}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_one_kind_of_journey_is_routed_to_separate_components(name: str) -> None:
    topology = TOPOLOGIES[name]
    divided = EdgePlan(topology, PORTS, Path("/logs/edge.jsonl"), apart=("bulk_lines", PORTS.apart))

    (host,) = manager(config := envoy.render(divided))["route_config"]["virtual_hosts"]
    whole = [route for route in host["routes"] if "route" in route and not is_preflight(route)]
    led = [(route["match"], route["route"]["cluster"]) for route in whole]
    for (own, apart), (match, component) in zip(led[::2], led[1::2], strict=True):
        asked = {"name": limits.JOURNEY, "string_match": {"exact": "bulk_lines"}}
        assert (own, apart) == ({**match, "headers": [asked]}, f"{component}-apart")
    clusters = {cluster["name"]: json.dumps(cluster) for cluster in config["static_resources"]["clusters"]}

    services = {service["name"]: service for service in kong.render(divided)["services"]}
    for component in topology.behind_edge:
        shared, apart = services[component], services[f"{component}-apart"]
        assert (shared["host"], apart["host"]) == ("127.0.0.1", "127.0.8.1")
        assert ("127.0.8.1" in clusters[component], "127.0.8.1" in clusters[f"{component}-apart"]) == (False, True)
        for own, route in zip(apart["routes"], shared["routes"], strict=True):
            named = {"name": own["name"], "headers": {limits.JOURNEY: ["bulk_lines"]}}
            assert own == {**route, **named}


def test_limits_are_the_same() -> None:
    config, settings = manager(ENVOYS["hybrid"]), kong.settings(plan(TOPOLOGIES["hybrid"]))
    (buffer, _) = config["http_filters"]
    assert settings["KONG_NGINX_HTTP_CLIENT_MAX_BODY_SIZE"] == str(buffer["typed_config"]["max_request_bytes"])
    assert settings["KONG_NGINX_HTTP_CLIENT_HEADER_TIMEOUT"] == config["request_headers_timeout"]
    assert f"{lua_table(KONGS['hybrid'])['request_s']}s" == config["request_timeout"]
    assert settings["KONG_NGINX_HTTP_KEEPALIVE_TIMEOUT"] == config["common_http_protocol_options"]["idle_timeout"]
    table = lua_table(KONGS["hybrid"])
    assert table["max_headers"] == config["common_http_protocol_options"]["max_headers_count"]
    assert table["max_header_bytes"] == 1024 * config["max_request_headers_kb"]
    streams = config["http2_protocol_options"]["max_concurrent_streams"]
    assert settings["KONG_NGINX_HTTP_HTTP2_MAX_CONCURRENT_STREAMS"] == str(streams)
    over_http1, *_ = ENVOYS["hybrid"]["static_resources"]["clusters"]
    timeouts = over_http1["typed_extension_protocol_options"]["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]
    idle = timeouts["common_http_protocol_options"]["idle_timeout"]
    assert settings["KONG_UPSTREAM_KEEPALIVE_IDLE_TIMEOUT"] + "s" == idle
    (host,) = config["route_config"]["virtual_hosts"]
    for service in KONGS["hybrid"]["services"]:
        assert service["connect_timeout"] == 1000 * int(over_http1["connect_timeout"].rstrip("s"))
        assert {route["route"]["timeout"] for route in host["routes"] if "route" in route} == {
            f"{service['read_timeout'] // 1000}s"
        }
        assert service["retries"] == 0


def lua_table(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the configuration of Kong's edge.lua."""
    (functions,) = (plugin["config"] for plugin in config["plugins"] if plugin["name"] == "pre-function")
    ((code,),) = {tuple(code) for code in functions.values()}
    table: dict[str, Any] = json.loads(code.partition("[==[")[2].partition("]==]")[0])
    return table


def test_header_rules_are_the_same() -> None:
    table, config = lua_table(KONGS["grpc"]), manager(ENVOYS["grpc"])
    (mutation,) = config["early_header_mutation_extensions"]
    suffix, names, *removed = mutation["typed_config"]["mutations"]
    assert table["removed_suffix"] == suffix["remove_on_match"]["key_matcher"]["suffix"]
    assert names["remove_on_match"]["key_matcher"]["safe_regex"]["regex"] == limits.REMOVED_PATTERN
    assert set(table["removed"]) == {one["remove"] for one in removed}
    (host,) = config["route_config"]["virtual_hosts"]
    assert table["mark"] == host["request_headers_to_add"][0]["header"]["key"]
    length, *refusals = [route for route in host["routes"] if "headers" in route["match"]]
    assert length["match"]["headers"][0]["range_match"]["start"] == limits.MAX_BODY + 1
    assert [
        {
            "name": header["name"],
            "pattern": header["string_match"]["safe_regex"]["regex"],
            "answer": refusal["direct_response"]["status"],
            "below": refusal["match"]["prefix"],
        }
        for refusal in refusals
        for header in refusal["match"]["headers"]
    ] == [{name: value for name, value in checked.items() if name != "refusal"} for checked in table["checked"]]
    assert table["deadline_ms"] == str(limits.ANSWER_S * 1000)


@pytest.mark.parametrize(
    "status", [400, 403, 404, 408, 413, 414, 415, 426, 429, 431, 460, 463, 500, 501, 502, 503, 504]
)
def test_errors_have_the_same_shape(status: int) -> None:
    reply = next(
        reply for reply in lua_table(KONGS["rest"])["replies"] if reply["min_status"] <= status <= reply["max_status"]
    )
    mappers = manager(ENVOYS["rest"])["local_reply_config"]["mappers"]

    def covers(mapper: Mapping[str, Any]) -> bool:
        bounds = {
            one["status_code_filter"]["comparison"]["op"]: one["status_code_filter"]["comparison"]["value"]
            for one in mapper["filter"]["and_filter"]["filters"]
            if "status_code_filter" in one
        }
        return bool(bounds["GE"]["default_value"] <= status <= bounds["LE"]["default_value"])

    call, accepted, graphql, problem, *_ = filter(covers, mappers)
    assert call["headers_to_add"][0]["header"]["value"] == str(reply["grpc_status"])
    for mapper, media_type in ((accepted, GRAPHQL_TYPE), (graphql, "application/json")):
        assert mapper["body_format_override"]["content_type"] == media_type
        (error,) = mapper["body_format_override"]["json_format"]["errors"]
        assert error == {"message": reply["detail"], "extensions": reply["extensions"]}
    again = [header["header"] for header in problem.get("headers_to_add", [])]
    assert {header["key"]: header["value"] for header in again} == (
        {"cache-control": "no-store"}
        | ({"retry-after": str(reply["retry_after_s"])} if "retry_after_s" in reply else {})
    )
    assert accepted.get("headers_to_add", []) == graphql.get("headers_to_add", []) == problem.get("headers_to_add", [])
    assert [header["header"]["value"] for header in call["headers_to_add"][1:]] == [
        value for name, value in reply.items() if name == "grpc_details"
    ]
    shape = problem["body_format_override"]["json_format"]
    assert (shape["type"], shape["title"], shape["code"]) == (reply["type"], reply["title"], reply["code"])
    assert shape["detail"] == reply["detail"]
    assert {one.get("status_code", 0) for one in (call, accepted, graphql, problem)} == {reply["status"]}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_refused_method_is_answered_with_those_of_its_route(name: str) -> None:
    allowed = {}
    for mapper in manager(ENVOYS[name])["local_reply_config"]["mappers"]:
        added = {one["header"]["key"]: one["header"]["value"] for one in mapper["headers_to_add"]}
        if "allow" in added:
            path = mapper["filter"]["and_filter"]["filters"][0]["header_filter"]["header"]
            allowed[path["string_match"]["safe_regex"]["regex"]] = added["allow"]
    table = lua_table(KONGS[name])["routes"]
    assert list(allowed.items()) == [(f"{route['pattern']}([?].*)?", route["allow"]) for route in table]


def test_a_transcoder_reports_its_refusals_itself() -> None:
    mappers = manager(envoy.render(plan(load_topology("hybrid-transcoded"))))["local_reply_config"]["mappers"]
    shapes = [one["body_format_override"].get("json_format", {}) for one in mappers]
    own = [shape["code"] for shape in shapes if shape.get("detail") == envoy.LOCAL_REPLY]
    assert own == ["INVALID_ARGUMENT"]


def test_every_plugin_is_one_of_both_edges() -> None:
    typical = plan(TOPOLOGIES["hybrid"], "typical")
    in_kong = {plugin["name"]: plugin["config"] for plugin in kong.render(typical)["plugins"]}
    config = manager(envoy.render(typical))
    in_envoy = {one["name"].removeprefix("envoy.filters.http."): one["typed_config"] for one in config["http_filters"]}
    assert set(in_kong) == {"pre-function", "rate-limiting", "correlation-id", "request-size-limiting", "jwt"}
    assert list(in_envoy) == ["local_ratelimit", "jwt_authn", "buffer", "router"]
    assert in_kong["rate-limiting"]["second"] == REQUESTS_PER_S
    assert in_envoy["local_ratelimit"]["token_bucket"]["max_tokens"] == REQUESTS_PER_S
    assert in_kong["request-size-limiting"]["allowed_payload_size"] == in_envoy["buffer"]["max_request_bytes"]
    assert in_kong["correlation-id"]["header_name"] == REQUEST_ID
    assert config["always_set_request_id_in_response"]
    (requirement,) = in_envoy["jwt_authn"]["rules"]
    assert {"allow_missing_or_failed": {}} in requirement["requires"]["requires_any"]["requirements"]
    known = {consumer["username"] for consumer in kong.render(typical)["consumers"]}
    assert in_kong["jwt"]["anonymous"] in known


def test_all_plugins_are_the_typical_ones_and_more() -> None:
    sets = {
        name: [plugin["name"] for plugin in kong.render(plan(TOPOLOGIES["hybrid"], name))["plugins"]]
        for name in ("none", "typical", "all")
    }
    assert sets["none"] == ["pre-function"]
    assert sets["all"] == [*sets["typical"], "prometheus", "file-log"]
    exposed = replace(plan(TOPOLOGIES["hybrid"], "all"), metrics=True)
    assert [plugin["name"] for plugin in kong.render(exposed)["plugins"]] == sets["all"]
    loggers = manager(envoy.render(plan(TOPOLOGIES["hybrid"], "all")))["access_log"]
    assert [one["typed_config"]["path"] for one in loggers] == ["/logs/edge.jsonl", "/logs/edge.plugin.log"]
    assert SWITCHES["plugins"].valid == " or ".join(sets)


@pytest.mark.parametrize("name", ["hybrid-transcoded", "grpc-web"])
def test_topologies_that_need_envoy_refuse_kong(name: str) -> None:
    with pytest.raises(SwitchError, match=rf"edge=kong: {name} needs .* valid with {name}: envoy"):
        kong.render(plan(load_topology(name)))


def is_preflight(route: Mapping[str, Any]) -> bool:
    """Whether a route of Envoy is for a browser's preflight request, which the edge answers itself."""
    return any(one["name"] == "access-control-request-method" for one in route["match"].get("headers", ()))


def test_pages_of_other_origins_may_send_and_read_the_same() -> None:
    (host,) = manager(ENVOYS["connect"])["route_config"]["virtual_hosts"]
    policies = [policy for one in host["routes"] if (policy := one.get("typed_per_filter_config", {}).get(envoy.CORS))]
    names = ("allow_methods", "allow_headers", "expose_headers", "max_age")
    (policy,) = {tuple(policy[name] for name in names) for policy in policies}
    for service in KONGS["connect"]["services"]:
        (cors,) = [plugin["config"] for plugin in service["plugins"] if plugin["name"] == "cors"]
        assert cors["origins"] == ["*"]
        listed = (cors["methods"], cors["headers"], cors["exposed_headers"])
        assert policy == (*(",".join(some) for some in listed), str(cors["max_age"]))
    # The edge itself refuses these requests before it selects a route.
    assert lua_table(KONGS["connect"])["calls"] == limits.CALLS
    others = {name: config for name, config in KONGS.items() if name != "connect"}
    of_others = [
        plugin["name"] for config in others.values() for one in config["services"] for plugin in one["plugins"]
    ]
    assert "cors" not in of_others
    assert {lua_table(config)["calls"] for config in others.values()} == {""}
