"""Envoy as the edge: its configuration, made from a plan."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesh.description.places import Place
from mesh.description.replies import GRAPHQL
from mesh.description.topology import GATEWAYS, Protocol
from mesh.edge import limits
from mesh.edge.admission import (
    LIMITS,
    OPENINGS,
    Limit,
    admission_filters,
    admitted_by,
    enable,
    openings_filter,
    slow_routes,
    transcoded_routes,
)
from mesh.edge.plan import EdgePlan, Upstream
from mesh.edge.plugins import plugins_of
from mesh.edge.replies import INVALID, METHOD, NOWHERE, REPLIES
from mesh.edge.routes import Match, Route
from mesh.envoy_config import (
    DESCRIPTOR,
    EDGE_FILE,
    ON_ANOTHER_INSTANCE,
    OTLP_CLUSTER,
    TYPES,
    WEBSOCKET,
    base_config,
    endpoints,
    holding_streams,
    http_filter,
    pipe_address,
    show_metrics,
    tcp_address,
)
from mesh.envoy_replies import NO_STORE, header, mapper, mappers_of, of_call, path, shapes

if TYPE_CHECKING:
    from mesh.sidecars.certificates import Certificate

MATCHES: Mapping[Match, Callable[[str], Mapping[str, Any]]] = {
    Match.EXACTLY: lambda path: {"path": path},
    Match.BELOW: lambda path: {"path_separated_prefix": path},
    Match.PREFIX: lambda path: {"prefix": path},
    Match.REGEX: lambda path: {"safe_regex": {"regex": path}},
}
"""Envoy's name for each kind of path match."""
PERSONAL = {"cache-control": "private, no-store", "vary": "authorization"}.items()
"""Cache headers that the edge adds to answers without them."""
LOCAL_REPLY = "%LOCAL_REPLY_BODY%"
"""Envoy's own message for a request that it refuses, such as the transcoder's."""
TOO_LARGE = {"start": limits.MAX_BODY + 1, "end": 2**63 - 1}
"""Declared lengths at which the edge refuses a request without waiting for its body."""
BUFFER = "envoy.filters.http.buffer"
OVERRIDE = "override_stream_error_on_invalid_http_message"
COMPRESSOR = "envoy.filters.http.compressor"
CORS = "envoy.filters.http.cors"
GRPC_WEB_FILTER = "envoy.filters.http.grpc_web"


def render(plan: EdgePlan, admin: Path | None = None) -> dict[str, Any]:
    """Envoy's whole configuration, as plain data.

    `admin` is the Unix domain socket of the admin page; by default, the page is at the plan's port.
    """
    topology, table = plan.topology, plan.routes
    config = base_config(EDGE_FILE)
    config["admin"]["address"] = pipe_address(admin) if admin else tcp_address(plan.admin)
    (monitor,) = config["overload_manager"]["resource_monitors"]
    monitor["typed_config"]["max_active_downstream_connections"] = limits.MAX_CONNECTIONS
    resources = config["static_resources"]
    (listener,) = resources["listeners"]
    listener["address"] = tcp_address(plan.listen)
    (chain,) = listener["filter_chains"]
    if plan.certificate is not None:
        chain["transport_socket"] = _tls(plan.certificate)
    manager = chain["filters"][0]["typed_config"]
    _limit(manager)
    manager["access_log"][0]["typed_config"]["path"] = str(plan.access_log)
    (otlp,) = plan.places.endpoints("jaeger-otlp-grpc")
    # The authority tells a sidecar the destination of the spans.
    manager["tracing"]["provider"]["typed_config"]["grpc_service"]["envoy_grpc"]["authority"] = str(otlp)
    if plan.proxied:
        manager["xff_num_trusted_hops"] = 1
    if plan.sampling < 100:
        manager["tracing"]["random_sampling"] = {"value": plan.sampling}
    manager["local_reply_config"] = {"mappers": _mappers(table, transcodes=topology.transcodes)}
    (host,) = manager["route_config"]["virtual_hosts"]
    host["request_headers_to_add"] = [header(limits.MARK, "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%")]
    action = {**host.pop("upstream_action"), "timeout": f"{limits.ANSWER_S}s"}
    host["routes"] += [
        {"match": {"connect_matcher": {}}, **_refuse(400)},
        {"match": {"prefix": "/", "headers": [{"name": "content-length", "range_match": TOO_LARGE}]}, **_refuse(413)},
        *map(_refusal, plan.checked),
        *(_page(manager["route_config"], plan.page) if plan.page else ()),
        *(_first_routes(action, plan) if plan.admission else ()),
        *(_route(route, action, upstream, plan) for route in table for upstream in plan.leads_to(route.component)),
    ]
    if topology.admits_browsers:
        _admit_browsers(host["routes"])
    if topology.translates:
        _refuse_untranslated(host["routes"])
    buffer, compressor, transcoder, router = manager["http_filters"]
    buffer["typed_config"]["max_request_bytes"] = limits.MAX_BODY
    transcoder["typed_config"]["proto_descriptor"] = str(DESCRIPTOR)
    plugins = plugins_of(plan)
    filters = [plugin.envoy_filter for plugin in plugins if plugin.envoy_filter]
    if plan.admission:
        filters = [*admission_filters(topology), *filters]
    if any(route.streams for route in table):
        filters = [openings_filter(), *filters]
    if any(route.sockets for route in table):
        # A WebSocket has no complete body to wait for, and is not for the transcoder.
        manager["upgrade_configs"] = [{"upgrade_type": WEBSOCKET, "enabled": False, "filters": [*filters, router]}]
    if topology.translates:
        filters = [http_filter("grpc_web", "GrpcWeb"), *filters]
    if topology.admits_browsers:
        # This filter is first in the chain, so that pages can read refusals too.
        filters = [http_filter("cors", "Cors"), *filters]
    manager["http_filters"] = [*filters, buffer, *([compressor, transcoder] if topology.transcodes else []), router]
    manager["access_log"] += [plugin.envoy_log for plugin in plugins if plugin.envoy_log]
    for plugin in plugins:
        manager.update(plugin.envoy_manager)
    if plan.quic and plan.certificate is not None:
        resources["listeners"].append(_quic(listener, plan.certificate))
    over_http1, over_http2, collector = resources["clusters"]
    names = dict.fromkeys(route.component for route in table)
    upstreams = [upstream for name in names for upstream in plan.leads_to(name)]
    resources["clusters"] = [
        *(
            _cluster(
                over_http2 if upstream.protocol is Protocol.GRPC else over_http1,
                upstream,
                streams=any(route.streams for route in table if route.component == upstream.component),
            )
            for upstream in upstreams
        ),
        _found_at({**collector, **endpoints(OTLP_CLUSTER, [tcp_address(otlp)])}, [otlp]),
    ]
    if plan.metrics_place:
        show_metrics(config, plan.metrics_place)
    return config


def _admit_browsers(routes: list[dict[str, Any]]) -> None:
    """Lets pages of every origin make calls. Pages do not gain customers' permissions: browsers do not add tokens."""
    policy = {
        "@type": f"{TYPES}/envoy.extensions.filters.http.cors.v3.CorsPolicy",
        "allow_origin_string_match": [{"safe_regex": {"regex": ".+"}}],
        "allow_methods": ",".join(limits.CALL_METHODS),
        "allow_headers": ",".join(limits.ALLOWED_HEADERS),
        "expose_headers": ",".join(limits.EXPOSED_HEADERS),
        "max_age": str(limits.PREFLIGHT_S),
        "forward_not_matching_preflights": False,
    }
    calls = [route for route in routes if _is_of_calls(route)]
    for route in calls:
        if "route" in route:
            route["typed_per_filter_config"] = {**route.get("typed_per_filter_config", {}), CORS: policy}
        else:
            # The filter skips routes that answer directly.
            route["response_headers_to_add"] = [header("access-control-allow-origin", "*")]
    led = next(route["route"] for route in calls if "route" in route)
    asked = [{"name": name, "present_match": True} for name in ("origin", "access-control-request-method")]
    # This route comes before the refusals of methods. The CORS filter answers, but needs a route with an upstream.
    by_options = {"name": ":method", "string_match": {"exact": "OPTIONS"}}
    preflight = {
        "match": {"prefix": limits.CALLS, "headers": [by_options, *asked]},
        "route": {"cluster": led["cluster"]},
        "typed_per_filter_config": {CORS: policy},
    }
    routes.insert(routes.index(calls[0]), preflight)


def _refuse_untranslated(routes: Sequence[dict[str, Any]]) -> None:
    """Keeps the gRPC status of the edge's refusals, which the gRPC-Web filter would derive from the HTTP status."""
    off = {"@type": f"{TYPES}/envoy.config.route.v3.FilterConfig", "disabled": True}
    for route in routes:
        if "direct_response" in route:
            route["typed_per_filter_config"] = {**route.get("typed_per_filter_config", {}), GRPC_WEB_FILTER: off}


def _is_of_calls(route: Mapping[str, Any]) -> bool:
    return any(isinstance(path, str) and path.startswith(limits.CALLS) for path in route["match"].values())


def _tls(certificate: Certificate) -> dict[str, Any]:
    full_type = f"{TYPES}/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
    config = {"@type": full_type, **_tls_context(certificate, limits.ALPN)}
    return {"name": "envoy.transport_sockets.tls", "typed_config": config}


def _quic(listener: Mapping[str, Any], certificate: Certificate) -> dict[str, Any]:
    """The listener for HTTP/3: the same port number and filters, over UDP."""
    over_udp = copy.deepcopy(dict(listener))
    over_udp["name"] = f"{listener['name']}-quic"
    over_udp["address"]["socket_address"]["protocol"] = "UDP"
    over_udp["udp_listener_config"] = {"quic_options": {}}
    (chain,) = over_udp["filter_chains"]
    full_type = f"{TYPES}/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport"
    chain["transport_socket"] = {
        "name": "envoy.transport_sockets.quic",
        "typed_config": {
            "@type": full_type,
            "downstream_tls_context": _tls_context(certificate, ["h3"]),
            # An attacker who records early data (0-RTT) can replay it, and so repeat a checkout or a login.
            "enable_early_data": False,
        },
    }
    manager = chain["filters"][0]["typed_config"]
    manager["codec_type"] = "HTTP3"
    over_http2 = manager.pop("http2_protocol_options")
    one_stream = {OVERRIDE: over_http2.pop(OVERRIDE)}
    manager["http3_protocol_options"] = {"quic_protocol_options": over_http2, **one_stream}
    return over_udp


def _tls_context(certificate: Certificate, protocols: Sequence[str]) -> dict[str, Any]:
    shown = {
        "certificate_chain": {"filename": str(certificate.chain)},
        "private_key": {"filename": str(certificate.key)},
    }
    return {
        "common_tls_context": {
            "tls_params": {"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3"},
            "alpn_protocols": protocols,
            "tls_certificates": [shown],
        }
    }


def _limit(manager: dict[str, Any]) -> None:
    manager["request_headers_timeout"] = manager["request_timeout"] = f"{limits.REQUEST_S}s"
    manager["stream_idle_timeout"] = f"{limits.STREAM_IDLE_S}s"
    manager["max_request_headers_kb"] = limits.MAX_HEADER_BYTES // 1024
    manager["common_http_protocol_options"] |= {
        "idle_timeout": f"{limits.CONNECTION_IDLE_S}s",
        "max_headers_count": limits.MAX_HEADER_COUNT,
    }
    manager["http2_protocol_options"]["max_concurrent_streams"] = limits.STREAMS_PER_CONNECTION
    (mutation,) = manager["early_header_mutation_extensions"]
    mutation["typed_config"]["mutations"] = [
        {"remove_on_match": {"key_matcher": {"suffix": limits.REMOVED_SUFFIX}}},
        {"remove_on_match": {"key_matcher": {"safe_regex": {"regex": limits.REMOVED_PATTERN}}}},
        *({"remove": name} for name in limits.REMOVED),
    ]


def _refusal(header: limits.Checked) -> dict[str, Any]:
    valid = {"name": header.name, "string_match": {"safe_regex": {"regex": header.pattern}}}
    match = {"prefix": header.below, "headers": [{**valid, "invert_match": True}]}
    return {"match": match, **_refuse(header.answer)}


def _refuse(status: int) -> dict[str, Any]:
    """A route's answer, which the edge sends before the request is complete."""
    return {"direct_response": {"status": status}, "typed_per_filter_config": _off(BUFFER, "buffer.v3.BufferPerRoute")}


def _off(name: str, kind: str) -> dict[str, Any]:
    """A route's configuration that turns a filter off."""
    return {name: {"@type": f"{TYPES}/envoy.extensions.filters.http.{kind}", "disabled": True}}


def _page(routing: dict[str, Any], page: str) -> Iterator[dict[str, Any]]:
    """The route of the page at the edge's root; requests for the page leave no span."""
    routing["max_direct_response_body_size_bytes"] = len(page.encode())
    never = {f"{kind}_sampling": {"numerator": 0} for kind in ("client", "random", "overall")}
    yield {
        "match": {"path": "/", "headers": [{"name": ":method", "string_match": {"safe_regex": {"regex": "GET|HEAD"}}}]},
        "direct_response": {"status": 200, "body": {"inline_string": page}},
        "response_headers_to_add": [header("content-type", "text/html; charset=utf-8"), NO_STORE],
        "tracing": never,
    }


def _first_routes(action: Mapping[str, Any], plan: EdgePlan) -> Iterator[dict[str, Any]]:
    """Routes that only select the admission limits of requests."""
    for route, slow in slow_routes(plan.topology):
        for upstream in plan.leads_to(route.component):
            rendered = _route(route, action, upstream, plan, (slow.limit,))
            if slow.method:
                method = {"name": ":method", "string_match": {"exact": slow.method}}
                rendered["match"] = {**rendered["match"], "headers": [*rendered["match"].get("headers", ()), method]}
            yield rendered
    for route, passed in transcoded_routes(plan.topology):
        # The transcoder turns a request into a call, and Envoy looks up the route again. A request that it does not
        # transcode matches no path.
        admitted = {"typed_per_filter_config": admitted_by(route.component, passed)}
        yield {"match": MATCHES[route.match](route.path), "direct_response": {"status": 404}, **admitted}


def _route(
    route: Route, action: Mapping[str, Any], upstream: Upstream, plan: EdgePlan, passed: Sequence[Limit] = LIMITS
) -> dict[str, Any]:
    match = MATCHES[route.match](route.path)
    rendered: dict[str, Any] = {"match": match, "route": {"cluster": upstream.name, **action}}
    if route.converses:
        rendered["typed_per_filter_config"] = _off(BUFFER, "buffer.v3.BufferPerRoute")
        rendered["route"]["max_stream_duration"] = {"max_stream_duration": f"{limits.CONVERSES_S}s"}
    elif plan.admission and not route.streams:
        rendered["typed_per_filter_config"] = {**admitted_by(route.component, passed)}
    if route.streams:
        rendered["route"] |= {"timeout": "0s", "idle_timeout": f"{limits.WATCH_IDLE_S}s"}
        rendered["typed_per_filter_config"] = {**enable(OPENINGS)}
    if route.sockets:
        rendered["route"]["upgrade_configs"] = [{"upgrade_type": WEBSOCKET}]
    if upstream.journey:
        journey = {"name": limits.JOURNEY, "string_match": {"exact": upstream.journey}}
        rendered["match"] = {**rendered["match"], "headers": [journey]}
    if upstream.is_balanced:
        # A request that could not be sent to one replica is sent to another, even if the request changes data.
        unsent = {"retry_on": "connect-failure,refused-stream", "num_retries": 1}
        rendered["route"]["retry_policy"] = {**unsent, **ON_ANOTHER_INSTANCE}
    if upstream.authority is not None:
        rendered["route"]["host_rewrite_literal"] = upstream.authority
    if upstream.protocol is Protocol.GRPC:
        if plan.topology.transcodes:
            # The transcoder's clients read with GET, and gRPC answers set no cache headers.
            rendered["response_headers_to_add"] = [header(name, value, "ADD_IF_ABSENT") for name, value in PERSONAL]
        # Without this header, gRPC resets the call, and the client gets UNAVAILABLE.
        rendered["request_headers_to_add"] = [header("te", "trailers")]
    if plan.topology.transcodes and route.component in GATEWAYS:
        # A gateway compresses its answers itself, with or without a transcoder.
        whole = _off(COMPRESSOR, "compressor.v3.CompressorPerRoute")
        rendered["typed_per_filter_config"] = {**rendered.get("typed_per_filter_config", {}), **whole}
    return rendered


def _cluster(base: Mapping[str, Any], upstream: Upstream, *, streams: bool) -> dict[str, Any]:
    ways = [tcp_address(place) for place in upstream.places]
    cluster = {**base, **endpoints(upstream.name, ways if upstream.socket is None else [pipe_address(upstream.socket)])}
    if streams:
        cluster = holding_streams(cluster)
    if upstream.socket is not None:
        return cluster
    if upstream.is_balanced:
        cluster["health_checks"] = [_health_check(upstream.protocol)]
        # A terminating pod still answers for a while, so the edge drops it when its address leaves DNS.
        cluster["ignore_health_on_host_removal"] = True
    return _found_at(cluster, upstream.places)


def _health_check(protocol: Protocol) -> dict[str, Any]:
    over_http = {"http_health_check": {"path": limits.HEALTH_PATH}}
    return {
        "timeout": f"{limits.CHECK_LIMIT_S}s",
        "interval": f"{limits.CHECK_EVERY_S}s",
        # Without this setting, Envoy checks a replica only once a minute until the replica gets a request.
        "no_traffic_interval": f"{limits.CHECK_EVERY_S}s",
        "unhealthy_threshold": limits.UNHEALTHY_AFTER,
        "healthy_threshold": 1,
        **({"grpc_health_check": {}} if protocol is Protocol.GRPC else over_http),
    }


def _found_at(cluster: dict[str, Any], places: Sequence[Place]) -> dict[str, Any]:
    return {**cluster, "type": "STATIC" if all(place.is_numeric for place in places) else "STRICT_DNS"}


def _mappers(table: Sequence[Route], *, transcodes: bool) -> list[dict[str, Any]]:
    """Envoy's `local_reply_config.mappers` for all replies."""
    replies = [replace(reply, detail=LOCAL_REPLY) if reply is INVALID and transcodes else reply for reply in REPLIES]
    return [one for reply in replies for one in (mappers_of(reply) if reply is not METHOD else _allowing(table))]


def _allowing(table: Sequence[Route]) -> Iterator[dict[str, Any]]:
    """Yields the mappers for refused methods, each with the methods that its route allows."""
    yield of_call(METHOD)
    bodies = list(shapes(METHOD))
    for route in table:
        allow = header("allow", ", ".join(route.methods))
        for asked, body in bodies:
            if bool(asked) == route.path.startswith(GRAPHQL):
                yield mapper(METHOD, [path(f"{route.pattern}([?].*)?"), *asked], body, allow)
    yield from mappers_of(
        replace(NOWHERE, min_status=METHOD.min_status, max_status=METHOD.max_status, status=NOWHERE.min_status)
    )
