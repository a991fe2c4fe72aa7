"""Kong as the edge, without a database: its declarative configuration and its settings, made from a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesh.description.replies import GRAPHQL, GRAPHQL_TYPE, Reply
from mesh.description.topology import EDGE, Protocol, Topology
from mesh.edge import limits
from mesh.edge.plan import EdgePlan, Upstream
from mesh.edge.plugins import consumers, plugins_of
from mesh.edge.replies import REPLIES
from mesh.edge.routes import Match, Route
from mesh.errors import SwitchError

if TYPE_CHECKING:
    from mesh.sidecars.certificates import Certificate

LUA = Path(__file__).parent / "templates" / "kong"
"""Folder of the start script, and of the Lua code that Kong runs for each request in addition to its plugins."""
PHASES = ("rewrite", "header_filter", "body_filter", "log")
BUFFERS = "64 16k"
"""Buffers for one answer: even the largest answer, a bulk read, is not written to disk."""
HEADERS = "4 128k"
"""Kong's limit on headers: above the edge's limit, so that edge.lua refuses headers that are slightly too large."""


OPENINGS = {
    # Kong counts in fixed windows, and thousands of openings take longer than a second.
    "minute": limits.OPENINGS,
    "limit_by": "header",
    "header_name": "authorization",
    "policy": "local",
    "hide_client_headers": True,
}
METRICS = {"name": "prometheus", "config": {"status_code_metrics": True, "latency_metrics": True}}
CORS = {
    "origins": ["*"],
    "methods": list(limits.CALL_METHODS),
    "headers": list(limits.ALLOWED_HEADERS),
    "exposed_headers": list(limits.EXPOSED_HEADERS),
    "max_age": limits.PREFLIGHT_S,
}


def require_kong(topology: Topology) -> None:
    """Raises a SwitchError with the reason if Kong cannot be a topology's edge."""
    if topology.translates:
        raise SwitchError(
            f"edge=kong: {topology.name} needs an edge that translates gRPC-Web to gRPC. Kong's grpc-web plugin loses "
            "errors: its trailers have no details, and say status 0 for a call that fails before its first message; "
            f"valid with {topology.name}: envoy."
        )
    if topology.transcodes:
        raise SwitchError(
            f"edge=kong: {topology.name} needs an edge that transcodes gRPC to protobuf's JSON. Kong's grpc-gateway "
            "plugin does not: it writes 64-bit numbers as JSON numbers, and streams without an array; "
            f"valid with {topology.name}: envoy."
        )


def render(plan: EdgePlan) -> dict[str, Any]:
    """Kong's declarative configuration, as plain data; errors as of `require_kong`."""
    require_kong(plan.topology)
    table, upstreams = plan.routes, plan.upstreams
    answered = [_termination(plan, "healthz", limits.HEALTH_PATH, 1000, "text/plain", "ok\n")]
    if plan.page:
        page = _termination(plan, "start-page", "/", 1001, "text/html; charset=utf-8", plan.page)
        answered.append({**page, "methods": ["GET", "HEAD"]})
    config = {
        "_format_version": "3.0",
        "services": [
            _service(plan, upstream, table, streams=streams)
            for upstream in upstreams
            for streams in sorted({route.streams for route in table if route.component == upstream.component})
        ],
        "routes": answered,
        "upstreams": [_upstream(upstream) for upstream in upstreams if upstream.is_balanced],
        "plugins": [
            {"name": "pre-function", "config": {phase: [_edge_lua(plan)] for phase in PHASES}},
            # The set `all` already has this plugin.
            *([METRICS] if plan.metrics and plan.plugins != "all" else []),
            *(plugin.kong for plugin in plugins_of(plan)),
        ],
        "consumers": consumers(plan),
    }
    return {name: value for name, value in config.items() if value}


def settings(plan: EdgePlan) -> dict[str, str]:
    """Kong's settings, as environment variables, without the paths of its configuration and its files."""
    return {
        "KONG_DATABASE": "off",
        "KONG_ANONYMOUS_REPORTS": "off",
        "KONG_ADMIN_LISTEN": "off",
        "KONG_ADMIN_GUI_LISTEN": "off",
        # Otherwise Kong reports the duration of each of its steps to callers on loopback addresses that request this.
        "KONG_REQUEST_DEBUG": "off",
        # `reuseport`, which Kong sets by default, is left out: with it, a second edge would silently share the port.
        "KONG_PROXY_LISTEN": f"{plan.listen} {'ssl ' if plan.certificate else ''}http2 backlog=4096",
        "KONG_STATUS_LISTEN": str(plan.metrics_place or plan.admin),
        "KONG_PROXY_ERROR_LOG": "/dev/stderr",
        "KONG_STATUS_ERROR_LOG": "/dev/stderr",
        "KONG_LOG_LEVEL": "warn",
        # edge.lua makes the log line; Kong writes it within a second, and when Kong stops.
        "KONG_NGINX_HTTP_LOG_FORMAT": "edge escape=none '$edge'",
        "KONG_NGINX_PROXY_SET": "$edge ''",
        "KONG_PROXY_ACCESS_LOG": f"{plan.access_log} edge buffer=64k flush=1s",
        # edge.lua is ours and needs Lua's clocks; no other code can get in, as there is no admin API.
        "KONG_UNTRUSTED_LUA": "on",
        # One worker, as with Envoy: on the few cores of a test machine, more workers would only compete for CPU time.
        "KONG_NGINX_WORKER_PROCESSES": "1",
        # Time limit for a worker whose successor is ready.
        "KONG_NGINX_MAIN_WORKER_SHUTDOWN_TIMEOUT": f"{limits.LEAVES_S}s",
        "KONG_HEADERS": "off",
        "KONG_HEADERS_UPSTREAM": "off",
        "KONG_TRACING_INSTRUMENTATIONS": "request,balancer",
        "KONG_TRACING_SAMPLING_RATE": f"{plan.sampling / 100:g}",
        "KONG_NGINX_HTTP_CLIENT_HEADER_TIMEOUT": f"{limits.REQUEST_S}s",
        # For HTTP/2 requests of unknown length, which edge.lua cannot wait for; nginx ends them without an answer.
        "KONG_NGINX_HTTP_CLIENT_BODY_TIMEOUT": f"{2 * limits.REQUEST_S}s",
        "KONG_NGINX_HTTP_SEND_TIMEOUT": f"{limits.STREAM_IDLE_S}s",
        "KONG_NGINX_HTTP_KEEPALIVE_TIMEOUT": f"{limits.CONNECTION_IDLE_S}s",
        # No limit: otherwise nginx would close a connection after so many requests, in the middle of a run.
        "KONG_NGINX_HTTP_KEEPALIVE_REQUESTS": "1000000000",
        "KONG_NGINX_HTTP_HTTP2_MAX_CONCURRENT_STREAMS": str(limits.STREAMS_PER_CONNECTION),
        "KONG_NGINX_HTTP_LARGE_CLIENT_HEADER_BUFFERS": HEADERS,
        "KONG_NGINX_HTTP_CLIENT_MAX_BODY_SIZE": str(limits.MAX_BODY),
        "KONG_NGINX_HTTP_CLIENT_BODY_BUFFER_SIZE": str(limits.MAX_BODY),
        "KONG_NGINX_PROXY_PROXY_BUFFERS": BUFFERS,
        "KONG_NGINX_PROXY_PROXY_BUFFER_SIZE": BUFFERS.split()[1],
        # Kong retries only requests that could not reach a component, not requests that took too long.
        "KONG_NGINX_PROXY_PROXY_NEXT_UPSTREAM": "error",
        "KONG_UPSTREAM_KEEPALIVE_IDLE_TIMEOUT": str(limits.UPSTREAM_IDLE_S),
        "KONG_UPSTREAM_KEEPALIVE_MAX_REQUESTS": "0",
        # The client's address is the last one, which the proxy has appended.
        **({"KONG_TRUSTED_IPS": "0.0.0.0/0,::/0", "KONG_REAL_IP_HEADER": "X-Forwarded-For"} if plan.proxied else {}),
        **({} if plan.certificate is None else _tls(plan.certificate)),
    }


def _tls(certificate: Certificate) -> dict[str, str]:
    return {
        "KONG_SSL_CERT": str(certificate.chain),
        "KONG_SSL_CERT_KEY": str(certificate.key),
        # Kong's own cipher suites would allow TLS 1.2 too.
        "KONG_SSL_CIPHER_SUITE": "custom",
        "KONG_SSL_PROTOCOLS": "TLSv1.3",
    }


def pattern(route: Route) -> str:
    """The regular expression of a route's paths for Kong, anchored at the beginning of the path."""
    return {
        Match.EXACTLY: f"{_literal(route.path)}$",
        Match.BELOW: f"{_literal(route.path)}(?:/|$)",
        Match.PREFIX: _literal(route.path),
        Match.REGEX: f"{route.path}$",
    }[route.match]


def _literal(path: str) -> str:
    return path.replace(".", r"\.")


def _service(plan: EdgePlan, upstream: Upstream, table: list[Route], *, streams: bool) -> dict[str, Any]:
    (first, *_) = upstream.places
    is_grpc = upstream.protocol is Protocol.GRPC
    limit_s = limits.WATCH_IDLE_S if streams else limits.ANSWER_S
    return {
        "name": f"{upstream.name}-streams" if streams else upstream.name,
        "protocol": "grpc" if is_grpc else "http",
        "host": f"{upstream.name}.upstream" if upstream.is_balanced else first.host,
        "port": first.port,
        "retries": 1 if upstream.is_balanced else 0,
        "connect_timeout": limits.CONNECT_S * 1000,
        "read_timeout": limit_s * 1000,
        "write_timeout": limit_s * 1000,
        "routes": [
            {
                "name": f"{upstream.name}-{number}",
                "paths": [f"~{pattern(route)}"],
                # Of routes with the same path, Kong takes the most specific route.
                **({"headers": {limits.JOURNEY: [upstream.journey]}} if upstream.journey else {}),
                # The first route in the table wins.
                "regex_priority": len(table) - number,
                "protocols": _protocols(plan, "grpc" if is_grpc else "http"),
                "strip_path": False,
                "preserve_host": True,
                **({"response_buffering": False} if streams else {}),
            }
            for number, route in enumerate(table)
            if (route.component, route.streams) == (upstream.component, streams)
        ],
        "plugins": list(_plugins(plan, upstream, streams=streams)),
    }


def _plugins(plan: EdgePlan, upstream: Upstream, *, streams: bool) -> Iterator[dict[str, Any]]:
    # The plugin is not global: a request that is not forwarded would leave spans of a trace that nobody requested.
    yield {
        "name": "opentelemetry",
        "config": {
            "traces_endpoint": f"{plan.places.endpoints('jaeger-otlp-http')[0].url}/v1/traces",
            "resource_attributes": {"service.name": EDGE},
            # Spans are exported soon after they end, so that draining them after a trial is quick.
            "queue": {"max_batch_size": 200, "max_coalescing_delay": 0.2, "max_entries": 100_000},
        },
    }
    if plan.topology.admits_browsers:
        yield {"name": "cors", "config": CORS}
    before_sending = []
    if upstream.authority is not None:
        socket = "nil" if upstream.socket is None else json.dumps(str(upstream.socket))
        names = f"local SOCKET, AUTHORITY = {socket}, {json.dumps(upstream.authority)}\n"
        before_sending.append(names + (LUA / "sidecar.lua").read_text())
    if streams:
        yield {"name": "rate-limiting", "config": OPENINGS}
        # edge.lua sets the deadline header before Kong knows a request's route; sidecars would end the stream then.
        before_sending.append(f"return function() ngx.req.clear_header({json.dumps(limits.DEADLINE)}) end\n")
    if before_sending:
        yield {"name": "post-function", "config": {"access": before_sending}}


def _upstream(upstream: Upstream) -> dict[str, Any]:
    return {
        "name": f"{upstream.name}.upstream",
        "algorithm": "round-robin",
        "targets": [{"target": str(place)} for place in upstream.places],
        # Kong's health checks speak HTTP only; a gRPC call that cannot be sent to one replica goes to another.
        **({} if upstream.protocol is Protocol.GRPC else {"healthchecks": {"active": _check()}}),
    }


def _check() -> dict[str, Any]:
    failures = dict.fromkeys(("tcp_failures", "timeouts", "http_failures"), limits.UNHEALTHY_AFTER)
    return {
        "type": "http",
        "http_path": limits.HEALTH_PATH,
        "timeout": limits.CHECK_LIMIT_S,
        "healthy": {"interval": limits.CHECK_EVERY_S, "successes": 1},
        "unhealthy": {"interval": limits.CHECK_EVERY_S, **failures},
    }


def _termination(plan: EdgePlan, name: str, path: str, priority: int, content_type: str, body: str) -> dict[str, Any]:
    """A route that Kong itself answers."""
    answer = {"status_code": 200, "content_type": content_type, "body": body}
    return {
        "name": name,
        "paths": [f"~{path}$"],
        "regex_priority": priority,
        "protocols": _protocols(plan, "http"),
        "plugins": [{"name": "request-termination", "config": answer}],
    }


def _protocols(plan: EdgePlan, protocol: str) -> list[str]:
    return [f"{protocol}s" if plan.certificate else protocol]


def _reply(reply: Reply) -> dict[str, Any]:
    extra = {"type": reply.type, "extensions": reply.extensions, "grpc_details": reply.grpc_details}
    return {name: value for name, value in (asdict(reply) | extra).items() if value is not None}


def _edge_lua(plan: EdgePlan) -> str:
    table = plan.routes
    edge: Mapping[str, Any] = {
        "mark": limits.MARK,
        "deadline": limits.DEADLINE,
        "deadline_ms": str(limits.ANSWER_S * 1000),
        "request_s": limits.REQUEST_S,
        "removed": dict.fromkeys(limits.REMOVED, True),
        "removed_suffix": limits.REMOVED_SUFFIX,
        "max_header_bytes": limits.MAX_HEADER_BYTES,
        "max_headers": limits.MAX_HEADER_COUNT,
        "sockets": [pattern(route) for route in table if route.sockets],
        "calls": limits.CALLS if plan.topology.admits_browsers else "",
        "checked": [asdict(checked) for checked in plan.checked],
        "routes": [{"pattern": route.pattern, "allow": ", ".join(route.methods)} for route in table],
        "graphql": GRAPHQL,
        "graphql_type": GRAPHQL_TYPE,
        "replies": [_reply(reply) for reply in REPLIES],
    }
    settings = f"local EDGE = require('cjson').decode([==[\n{json.dumps(edge, indent=1)}\n]==])\n"
    return settings + (LUA / "edge.lua").read_text()
