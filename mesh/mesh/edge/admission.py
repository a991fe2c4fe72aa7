"""Refuses requests at the edge, early and cheaply, when a component answers more slowly than it should.

Each component behind the edge has adaptive concurrency filters of Envoy (docs/adr/system/048-admission-by-delay.md).
Checkouts and later requests of a multi-step journey declare a higher urgency (RFC 9218); their limits are less strict.
The duration of requests that are slow by nature says nothing about congestion, so they pass only a fixed limit, and
streams pass none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesh.description.topology import GATEWAYS, Protocol, Topology
from mesh.edge import limits
from mesh.edge.routes import OF_SERVICES, Match, Route, calls_of
from mesh.envoy_config import TYPES, http_filter
from mesh.envoy_replies import header

PRIORITY = "priority"
"""The header by which a client says how urgent a request is."""
UNDER_WAY, CHECKOUT = "u=0", "u=1"
"""Priorities of later requests of a journey, and of a new checkout; other requests have urgency 3."""
PERCENTILE, UPDATE_MS = 50, 200
BUSY = "x-hopwise-busy"
"""The header by which the edge marks a request whose caller sends more than its share."""
CALLERS = "admission.callers"
"""Name of the filter that marks requests of busy callers."""
OPENINGS = "openings"
"""Name of the filter that limits how fast a token opens streams."""
BY_TOKEN = {"actions": [{"request_headers": {"header_name": "authorization", "descriptor_key": "token"}}]}
BUSY_SHARE = 0.5
"""The share of the capacity for new requests that busy callers may use."""


@dataclass(frozen=True)
class Share:
    """The rate up to which a caller does not count as busy: requests per second in the long run, and at once."""

    per_s: int
    burst: int


OF_TOKEN, OF_ADDRESS = Share(1, 5), Share(10, 40)
"""The shares of a token, and of an address for requests without a token: several customers may share an address."""


@dataclass(frozen=True)
class Admission:
    """How many requests an edge admits.

    Attributes:
        median_ms: The highest median response time, in ms, at which the edge admits new requests. It is somewhat above
            the median at which p99 of journeys is 100 ms in services, and 250 ms in gateways.
        min_requests: Concurrent requests that are always admitted. An edge starts with this number, and doubles it
            after each `UPDATE_MS` in which answers are quick.
    """

    median_ms: int
    min_requests: int


OF_SERVICE = Admission(6, 4)
OF_GATEWAY = Admission(20, 8)
"""A gateway's limits are higher: some of its answers are long, and short answers wait behind long ones even without
congestion."""


@dataclass(frozen=True)
class Limit:
    """One of the limits that requests pass in sequence.

    Attributes:
        name: First part of the filter's name; the component's name follows.
        times: Factor by which the highest median response time exceeds that of the first limit.
        max_requests: Maximum number of concurrent requests, even if answers are quick. With a higher maximum, a sudden
            peak would queue a second's work of two cores before the first response time is known.
        passed_by: Values of the priority header with which a request bypasses this limit.
        min_requests: As `Admission.min_requests`, if this limit needs a different value; otherwise 0.
        busy: Whether the limit is for requests of busy callers only, which have `BUSY_SHARE` of the capacity.
    """

    name: str
    times: int
    max_requests: int
    passed_by: tuple[str, ...] = ()
    min_requests: int = 0
    busy: bool = False

    def of(self, component: str) -> str:
        """Returns the name of its filter for a component."""
        return f"{self.name}.{component}"


LIMITS = (
    Limit("admission.busy", 1, 16, (UNDER_WAY, CHECKOUT), busy=True),
    Limit("admission.new", 1, 16, (UNDER_WAY, CHECKOUT)),
    Limit("admission.checkouts", 2, 32, (UNDER_WAY,)),
    Limit("admission.all", 3, 40, min_requests=16),
)
"""Later requests of a journey always find capacity in addition to the capacity for new requests; otherwise the work
done so far would be wasted."""
HASHES = Limit("admission.hashes", 50, 64, min_requests=8)
BULK = Limit("admission.bulk", 50, 16, min_requests=2)
"""Limits for requests that are slow by nature; the median may be 300 ms at a service and 1 s at a gateway."""


@dataclass(frozen=True)
class Slow:
    """Requests that are slow by nature, and pass only one limit; an empty method stands for any."""

    service: str
    limit: Limit
    paths: Mapping[Protocol, Sequence[str]]
    method: str = ""


def _calls(service: str, *methods: str) -> Mapping[Protocol, Sequence[str]]:
    paths = tuple(calls_of(service) + method for method in methods)
    return {Protocol.GRPC: paths, Protocol.CONNECT: paths}


SLOW = (
    Slow(
        "user", HASHES, {Protocol.REST: ("/v1/sessions", "/v1/users"), **_calls("user", "Login", "CreateUser")}, "POST"
    ),
    Slow("order", BULK, {Protocol.REST: ("/v1/order-lines",), **_calls("order", "StreamOrderLines")}),
    Slow("product", BULK, {Protocol.REST: ("/v1/product-rows",), **_calls("product", "StreamProductRows")}),
)
"""Requests that hash a password or read thousands of rows. GraphQL has one path for everything: its gateway limits
password hashes itself (`shop.platform.admission`), and pages are short. Thrift has one path for each service."""


def openings_filter() -> Mapping[str, Any]:
    """Returns the HTTP filter that refuses a token's streams when it opens too many; routes of streams enable it."""
    share = Share(limits.OPENINGS_PER_S, limits.OPENINGS)
    rendered = _counting("openings", 100, rate_limits=[BY_TOKEN], descriptors=[_of_token(share)])
    return {**rendered, "name": OPENINGS, "disabled": True}


def admission_filters(topology: Topology) -> Sequence[Mapping[str, Any]]:
    """Returns the admission filters for a topology, which come first in Envoy's filter chain; each route enables the
    filters that it needs."""
    slow = dict.fromkeys((slow.limit, route.component) for route, slow in slow_routes(topology))
    usual = ((limit, component) for component in topology.behind_edge for limit in LIMITS)
    rendered = [_but(limit, _filter(limit, at)) for limit, at in (*usual, *slow)]
    return [{**each, "disabled": True} for each in (_callers(), *rendered)]


def admitted_by(component: str, passed: Sequence[Limit] = LIMITS) -> Mapping[str, Any]:
    """Returns the `typed_per_filter_config` of a route that leads to a component: it enables the component's limits."""
    return enable(CALLERS, *(limit.of(component) for limit in passed))


def enable(*names: str) -> Mapping[str, Any]:
    """Returns the `typed_per_filter_config` of a route that enables filters of these names."""
    on = {"@type": f"{TYPES}/envoy.config.route.v3.FilterConfig", "config": {}}
    return dict.fromkeys(names, on)


def slow_routes(topology: Topology) -> list[tuple[Route, Slow]]:
    """Returns the routes of requests that are slow by nature; these routes come before all others."""
    return [
        (Route(component, Match.EXACTLY, path), slow)
        for component, protocol in topology.behind_edge.items()
        for slow in SLOW
        if component in (slow.service, *GATEWAYS)
        for path in slow.paths.get(protocol, ())
    ]


def transcoded_routes(topology: Topology) -> list[tuple[Route, Sequence[Limit]]]:
    """Returns the routes that apply limits to the transcoder's requests before they become gRPC calls."""
    if not topology.transcodes:
        return []
    slow = [
        (Route(slow.service, Match.EXACTLY, path), (slow.limit,)) for slow in SLOW for path in slow.paths[Protocol.REST]
    ]
    usual = [(route, LIMITS) for route in OF_SERVICES[Protocol.REST]]
    return [(route, passed) for route, passed in (*slow, *usual) if route.component in topology.exposed]


def _callers() -> Mapping[str, Any]:
    """A filter that marks requests of busy callers, and refuses no request."""
    anonymous = {"name": "authorization", "present_match": True}
    by_address = [
        {"header_value_match": {"descriptor_value": "none", "expect_match": False, "headers": [anonymous]}},
        {"remote_address": {}},
    ]
    of_address = {
        "entries": [{"key": "header_match", "value": "none"}, {"key": "remote_address"}],
        "token_bucket": _bucket(OF_ADDRESS),
    }
    rendered = _counting(
        "callers",
        0,
        request_headers_to_add_when_not_enforced=[header(BUSY, "1")],
        rate_limits=[BY_TOKEN, {"actions": by_address}],
        descriptors=[_of_token(OF_TOKEN), of_address],
    )
    return {**rendered, "name": CALLERS}


def _counting(prefix: str, enforced: int, **config: Any) -> Mapping[str, Any]:
    """A filter that counts each caller's requests; `enforced` is how many percent of the surplus it refuses."""
    return http_filter(
        "local_ratelimit",
        "LocalRateLimit",
        stat_prefix=prefix,
        filter_enabled={"default_value": {"numerator": 100}},
        filter_enforced={"default_value": {"numerator": enforced}},
        **config,
        max_dynamic_descriptors=limits.MAX_CALLERS,
    )


def _of_token(share: Share) -> Mapping[str, Any]:
    """The descriptor of a rate limit per token. An entry without a value matches any token."""
    return {"entries": [{"key": "token"}], "token_bucket": _bucket(share)}


def _bucket(share: Share) -> Mapping[str, Any]:
    return {"max_tokens": share.burst, "tokens_per_fill": 1, "fill_interval": _ms(1_000 / share.per_s)}


def _filter(limit: Limit, component: str) -> Mapping[str, Any]:
    admission = OF_GATEWAY if component in GATEWAYS else OF_SERVICE
    share = BUSY_SHARE if limit.busy else 1
    gradient = {
        "sample_aggregate_percentile": {"value": PERCENTILE},
        "concurrency_limit_params": {
            "max_concurrency_limit": int(share * limit.max_requests),
            "concurrency_update_interval": _ms(UPDATE_MS),
        },
        # Fixed: Envoy's own measurement of the minimum would block nearly all requests for a while.
        "min_rtt_calc_params": {
            "fixed_value": _ms(limit.times * admission.median_ms),
            "min_concurrency": int(share * (limit.min_requests or admission.min_requests)),
            "buffer": {"value": 0},
        },
    }
    rendered = http_filter("adaptive_concurrency", "AdaptiveConcurrency", gradient_controller_config=gradient)
    return {**rendered, "name": limit.of(component)}


def _but(limit: Limit, rendered: Mapping[str, Any]) -> Mapping[str, Any]:
    """A limit that applies to all requests except requests with certain headers."""
    passed_by = [_is(PRIORITY, value) for value in limit.passed_by]
    if limit.busy:
        passed_by.append({"not_matcher": _is(BUSY, "1")})
    if not passed_by:
        return rendered
    skip = {"@type": f"{TYPES}/envoy.extensions.filters.common.matcher.action.v3.SkipFilter"}
    action = {"action": {"name": "skip", "typed_config": skip}}
    matchers = [{"predicate": predicate, "on_match": action} for predicate in passed_by]
    return {
        "name": rendered["name"],
        "typed_config": {
            "@type": f"{TYPES}/envoy.extensions.common.matching.v3.ExtensionWithMatcher",
            "xds_matcher": {"matcher_list": {"matchers": matchers}},
            "extension_config": rendered,
        },
    }


def _is(name: str, value: str) -> Mapping[str, Any]:
    """A predicate that matches requests whose header has this value."""
    read = {"@type": f"{TYPES}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput", "header_name": name}
    return {"single_predicate": {"input": {"name": name, "typed_config": read}, "value_match": {"exact": value}}}


def _ms(milliseconds: float) -> str:
    return f"{milliseconds / 1000:g}s"
