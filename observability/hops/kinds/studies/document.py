"""A study as in a run's manifest, and the verdicts on its claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypedDict, cast, get_args

from hops.run.documents.estimate import Estimate
from hops.run.documents.gate import Verdict as RunVerdict
from hops.run.documents.summary import Summary

KIND: Final = "studies"

Relation = Literal["lt", "gt", "eq", "ratio"]
Metric = Literal[
    "latency_p50",
    "latency_p99",
    "latency_mean",
    "throughput",
    "payload_bytes",
    "payload_effect",
    "cpu_percent",
    "memory_mb",
    "success_rate",
    "saturation_users",
]
METRICS: dict[Metric, tuple[str, str]] = {
    "latency_p50": ("latency, p50", "ms"),
    "latency_p99": ("latency, p99", "ms"),
    "latency_mean": ("latency, mean", "ms"),
    "throughput": ("throughput", "1/s"),
    "payload_bytes": ("bytes of the answers", "bytes"),
    "payload_effect": ("advantage at p50, from small to large", "times"),
    "cpu_percent": ("CPU of a journey", "ms for each journey"),
    "memory_mb": ("memory", "MB"),
    "success_rate": ("answered well", "%"),
    "saturation_users": ("users until full", "users"),
}
"""Name and unit of each metric of a claim."""
OF_AN_ORDER: Final = "saturation_users"
"""The metric of a claim that ranks several sides."""
LATENCY: Final = "latency_"
"""Prefix of metrics that are a latency's mean or percentile."""
OF_THE_ANSWERS: Final = "payload_bytes"
"""The metric that NOISY trials measure as well as VALID ones, because their answers are right."""
Outcome = Literal["holds", "contradicted", "not shown", "not comparable"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NAIVE = "-naive"
"""Suffix of a topology whose client makes one request per item."""
SIDES = {
    "rest": "rest",
    "graphql": "graphql",
    "grpc": "grpc",
    "thrift": "thrift",
    "hybrid": "hybrid",
    "dataloader": "graphql",
    "n_plus_one": "graphql-naive",
}
"""Sides that a claim may compare, and the default topology of each."""


class Claim(TypedDict):
    """A claim as it was published.

    `value` is the published ratio, or the two ends of a range. `published` has the absolute figures that the study
    printed for left and right, in its own unit. `between` are sides of an order between left and right. `topologies`
    represent all sides here, from left to right, and `why_topologies` says why. `loads` are the loads that decide the
    claim, in their order, and `reason` says why none can. `also` are further loads, by name, with their topologies;
    they decide nothing. `tolerance` is the difference that counts as none, as a share (0.05 is 5 %).
    """

    id: str
    metric: Metric
    left: str
    between: list[str]
    right: str
    relation: Relation
    value: float | list[float] | None
    tolerance: float | None
    under: dict[str, Any]
    note: str
    source: str
    published: str
    topologies: list[str]
    why_topologies: str
    loads: list[str]
    reason: str
    also: dict[str, list[str]]


class StudyLoad(TypedDict):
    """A load of a study: in words, as published, and as replayed.

    `users` is the number of users of a closed loop or, with a ramp-up, of users who send one request each.
    """

    about: str
    sends: str
    arrivals: bool
    users: int
    users_replayed: int
    duration_s: float
    duration_replayed_s: float
    topologies: list[str]


class Study(TypedDict):
    """A study as it is replayed."""

    id: str
    title: str
    authors: list[str]
    year: int | None
    venue: str
    scale: str
    not_replayed: str
    loads: dict[str, StudyLoad]
    claims: list[Claim]


class Size(TypedDict):
    """Whether the published ratio is inside the interval, and the measured effect divided by the ratio.

    For a published range, the nearest end counts; if the effect is in the range, `measured_over_published` is 1.
    """

    inside: bool
    measured_over_published: float


class OtherClient(TypedDict):
    """The same claim with the other kind of client, batching or with one request per item: arms, effect and outcome."""

    arms: list[str]
    effect: Estimate
    outcome: Outcome


class OtherLoad(OtherClient):
    """The same claim under another load."""

    load: str


class Verdict(TypedDict):
    """The verdict on a claim.

    `outcome` is about direction, and `size` about the published ratio, if there is one. `arms` were compared, and
    `values` are their figures in `unit`. `effect` is left divided by right; for success rates it is left minus right,
    in points. Its interval decides. `p` is its p value, and `p_holm` the p value corrected over all claims of the run.
    `blocks` is the number of blocks that would show a direction, if none is shown. `left_out` are the blocks that do
    not count because their trials are NOISY. `why` explains a contradiction by measurements of parts.
    `failed` are the shares of the journeys that failed on both sides, in percent; empty if few failed, or the claim is
    not about a latency.
    """

    claim: Claim
    outcome: Outcome
    reason: str
    arms: list[str]
    values: list[float | None]
    unit: str
    effect: Estimate | None
    difference: bool
    p: float | None
    p_holm: float | None
    size: Size | None
    blocks: int | None
    left_out: list[int]
    failed: list[float]
    beside: str
    why: list[str]
    other_client: OtherClient | None
    other_loads: list[OtherLoad]


class Replayed(TypedDict):
    """A study, the verdicts on its claims, and the verdict on the figures of its arms."""

    study: Study
    verdicts: list[Verdict]
    figures: RunVerdict


class StudySummary(Summary):
    """The summary of replayed studies."""

    studies: list[Replayed]


def arm_label(study: str, topology: str, load: str) -> str:
    """Names a topology under a load of a study in the results: `niswar-rest-flat-100`."""
    return f"{study}-{topology}-{load}"


def other_clients(topologies: Sequence[str]) -> list[str]:
    """Returns the topologies with the other kind of client.

    Where a side makes one request per item, only that side changes, and batches. Else both sides stop batching.
    """
    naive = any(topology.endswith(NAIVE) for topology in topologies)
    return [topology.removesuffix(NAIVE) if naive else f"{topology}{NAIVE}" for topology in topologies]


def replayed_in(summary: Summary) -> list[Replayed]:
    """Gives the part of a summary that only replayed studies have."""
    return cast("StudySummary", summary)["studies"]


def studies_in(manifest: dict[str, Any]) -> list[Study]:
    """Lists the studies that a run replays."""
    return cast("list[Study]", manifest["studies"])
