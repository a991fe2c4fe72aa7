"""Refuses requests at the edge, early and at hardly any cost, when answers take longer than they should.

Envoy's adaptive concurrency: of each fifth of a second's answers the median is compared with what it should be, and as
many requests are let in at a time as keep it there. The others get a 503 at once. Checkouts, and what belongs to
something under way, say so (RFC 9218): the former are refused later than what else is new, and the latter last, since
what has been done for it would be lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesh.description.topology import Topology
from mesh.envoy_config import TYPES

PRIORITY = "priority"
"""The header by which a client says how urgent a request is."""
UNDER_WAY, CHECKOUT = "u=0", "u=1"
"""Its values for later requests of something under way and for a new checkout; the urgency of others is 3."""
PERCENTILE, UPDATE_MS = 50, 200


@dataclass(frozen=True)
class Admission:
    """What an edge lets in.

    Attributes:
        median_ms: How long the median of the answers may take while requests are let in, in ms: for new ones somewhat
            more than where p99 of journeys is 100 ms in services, and 250 ms in gateways.
        least: Requests that are let in at a time, whatever their answers take. An edge begins with so many, and doubles
            them with each `UPDATE_MS` in which answers are quick.
    """

    median_ms: int
    least: int


SERVICES = Admission(6, 4)
GATEWAYS = Admission(20, 8)
"""Gateways have longer answers among short ones, behind which others wait that nothing else delays."""


@dataclass(frozen=True)
class Limit:
    """One of the limits that requests pass, each behind the one before.

    Attributes:
        name: Name of its filter.
        times: As many times as long as of the first one the median of the answers may take.
        most: Requests that are let in at a time, however quick answers are. With more, a sudden peak would be a
            second's work of two cores before the first answer says so.
        passed_by: Values of the header by which requests pass it by.
        least: As `Admission.least`, where it is more.
    """

    name: str
    times: int
    most: int
    passed_by: tuple[str, ...] = ()
    least: int = 0


LIMITS = (
    Limit("admission.new", 1, 16, (UNDER_WAY, CHECKOUT)),
    Limit("admission.checkouts", 2, 32, (UNDER_WAY,)),
    Limit("admission.all", 3, 40, least=16),
)
"""What is under way finds room beside what is new however slow answers are, or work has been done for nothing."""


def admission_filters(topology: Topology) -> Sequence[Mapping[str, Any]]:
    """Envoy's HTTP filters before a topology, the first ones of its chain."""
    admission = GATEWAYS if topology.gateways else SERVICES
    return [_but(limit.passed_by, _filter(limit, admission)) for limit in LIMITS]


def without_admission() -> Mapping[str, Any]:
    """A route's `typed_per_filter_config` for answers that last, whose time says nothing."""
    off = {"@type": f"{TYPES}/envoy.config.route.v3.FilterConfig", "disabled": True}
    return {limit.name: off for limit in LIMITS}


def _filter(limit: Limit, admission: Admission) -> Mapping[str, Any]:
    gradient = {
        "sample_aggregate_percentile": {"value": PERCENTILE},
        "concurrency_limit_params": {
            "max_concurrency_limit": limit.most,
            "concurrency_update_interval": _ms(UPDATE_MS),
        },
        # Fixed: to measure what is possible, Envoy would let in next to nothing for a while.
        "min_rtt_calc_params": {
            "fixed_value": _ms(limit.times * admission.median_ms),
            "min_concurrency": max(limit.least, admission.least),
            "buffer": {"value": 0},
        },
    }
    config = {
        "@type": f"{TYPES}/envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency",
        "gradient_controller_config": gradient,
    }
    return {"name": limit.name, "typed_config": config}


def _but(passed_by: Sequence[str], limit: Mapping[str, Any]) -> Mapping[str, Any]:
    """A limit that requests pass by whose header has one of these values."""
    if not passed_by:
        return limit
    read = {"@type": f"{TYPES}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput", "header_name": PRIORITY}
    skip = {"@type": f"{TYPES}/envoy.extensions.filters.common.matcher.action.v3.SkipFilter"}
    matchers = [
        {
            "predicate": {
                "single_predicate": {
                    "input": {"name": PRIORITY, "typed_config": read},
                    "value_match": {"exact": value},
                }
            },
            "on_match": {"action": {"name": "skip", "typed_config": skip}},
        }
        for value in passed_by
    ]
    return {
        "name": limit["name"],
        "typed_config": {
            "@type": f"{TYPES}/envoy.extensions.common.matching.v3.ExtensionWithMatcher",
            "xds_matcher": {"matcher_list": {"matchers": matchers}},
            "extension_config": limit,
        },
    }


def _ms(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g}s"
