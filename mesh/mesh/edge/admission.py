"""Refuses requests at the edge, early and at hardly any cost, when answers take longer than they should.

Envoy's adaptive concurrency: of each fifth of a second's answers the median is compared with what it should be, and as
many requests are let in at a time as keep it there. The others get a 503 at once. What belongs to something under way,
a journey's later requests and checkouts, says so (RFC 9218) and is refused much later than what is new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mesh.description.topology import Topology
from mesh.envoy_config import TYPES

PRIORITY = "priority"
"""The header by which a client says how urgent a request is."""
UNDER_WAY = "u=1"
"""Its value for what goes before new requests, whose urgency is 3 where the header is missing."""
UNDER_WAY_TIMES = 2
"""As many times as long the median of the answers may take while requests under way are let in."""
PERCENTILE, UPDATE_MS = 50, 200
MOST_NEW, MOST = 16, 40
"""New requests that are let in at a time when answers are quick, and all requests. With more, a sudden peak would be a
second's work of two cores before the first answer says so."""
NEW, ALL = "admission.new", "admission.all"
"""Names of the two limits' filters."""


@dataclass(frozen=True)
class Admission:
    """What an edge lets in.

    Attributes:
        median_ms: How long the median of the answers may take while requests are let in, in ms: for new ones somewhat
            more than where p99 of journeys is 100 ms in services, and 250 ms in gateways.
        least: Requests that are let in at a time, whatever their answers take. An edge begins with so many, and doubles
            them with each `UPDATE_MS` in which answers are quick.
        most: Requests that are let in at a time, however quick answers are.
    """

    median_ms: int
    least: int
    most: int = MOST_NEW


SERVICES = Admission(6, 4)
GATEWAYS = Admission(20, 8)
"""Gateways have longer answers among short ones, behind which others wait that nothing else delays."""


def admission_filters(topology: Topology) -> Sequence[Mapping[str, Any]]:
    """Envoy's HTTP filters before a topology, the first ones of its chain."""
    admission = GATEWAYS if topology.gateways else SERVICES
    under_way = replace(admission, median_ms=UNDER_WAY_TIMES * admission.median_ms, most=MOST)
    return [_but_under_way(_limit(NEW, admission)), _limit(ALL, under_way)]


def without_admission() -> Mapping[str, Any]:
    """A route's `typed_per_filter_config` for answers that last, whose time says nothing."""
    return {name: {"@type": f"{TYPES}/envoy.config.route.v3.FilterConfig", "disabled": True} for name in (NEW, ALL)}


def _limit(name: str, admission: Admission) -> Mapping[str, Any]:
    gradient = {
        "sample_aggregate_percentile": {"value": PERCENTILE},
        "concurrency_limit_params": {
            "max_concurrency_limit": admission.most,
            "concurrency_update_interval": _ms(UPDATE_MS),
        },
        # Fixed: to measure what is possible, Envoy would let in next to nothing for a while.
        "min_rtt_calc_params": {
            "fixed_value": _ms(admission.median_ms),
            "min_concurrency": admission.least,
            "buffer": {"value": 0},
        },
    }
    config = {
        "@type": f"{TYPES}/envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency",
        "gradient_controller_config": gradient,
    }
    return {"name": name, "typed_config": config}


def _but_under_way(limit: Mapping[str, Any]) -> Mapping[str, Any]:
    """A limit that requests which are under way pass by."""
    read = {"@type": f"{TYPES}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput", "header_name": PRIORITY}
    is_under_way = {"input": {"name": PRIORITY, "typed_config": read}, "value_match": {"exact": UNDER_WAY}}
    skip = {"@type": f"{TYPES}/envoy.extensions.filters.common.matcher.action.v3.SkipFilter"}
    matcher = {
        "predicate": {"single_predicate": is_under_way},
        "on_match": {"action": {"name": "skip", "typed_config": skip}},
    }
    return {
        "name": limit["name"],
        "typed_config": {
            "@type": f"{TYPES}/envoy.extensions.common.matching.v3.ExtensionWithMatcher",
            "xds_matcher": {"matcher_list": {"matchers": [matcher]}},
            "extension_config": limit,
        },
    }


def _ms(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g}s"
