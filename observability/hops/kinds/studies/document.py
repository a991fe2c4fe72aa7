"""A study as a run's manifest has it, and what became of its claims."""

from __future__ import annotations

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
Outcome = Literal["holds", "contradicted", "not shown", "not comparable"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NAIVE = "-naive"
"""What the name of a topology whose client makes one request per item ends in."""
SIDES = {
    "rest": "rest",
    "graphql": "graphql",
    "grpc": "grpc",
    "thrift": "thrift",
    "hybrid": "hybrid",
    "dataloader": "graphql",
    "n_plus_one": "graphql-naive",
}
"""What a claim may compare, and the topology that stands for it, unless a study says otherwise."""


class Claim(TypedDict):
    """A claim as it was published.

    `value` is the published ratio, or the two ends of a range; `published` the absolute figures that the study printed
    for left and right, in its own unit. `between` are sides of an order that lie between left and right. `topologies`
    stand for all sides here, in that order, and `why_topologies` says why. `loads` are those that answer it, in their
    order, and `reason` why none can. `also` are further loads, by name, with their topologies: what they show decides
    nothing.
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

    `users` are those of a closed loop or, with a ramp-up, those who send one request each.
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
    """Whether the published ratio lies inside the interval, and the measured effect divided by the ratio.

    Of a published range the nearest end counts; where the effect lies in the range, `measured_over_published` is 1.
    """

    inside: bool
    measured_over_published: float


class OtherClient(TypedDict):
    """The same claim with clients that batch, or that make one request per item: arms, effect and outcome."""

    arms: list[str]
    effect: Estimate
    outcome: Outcome


class OtherLoad(TypedDict):
    """The same claim under another load: its name, arms, effect and outcome."""

    load: str
    arms: list[str]
    effect: Estimate
    outcome: Outcome


class Verdict(TypedDict):
    """What became of a claim.

    `outcome` is about direction and `size` about the published ratio, where there is one. `arms` are those that were
    compared, and `values` their figures in `unit`. `effect` is left divided by right, but of success rates left minus
    right, in points; its interval decides. `p` belongs to it, `p_holm` is corrected over all claims of the run.
    `blocks` is how many would show a direction where none is shown. `why` explains what contradicts it, by parts that
    were measured.
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
    """What the results call a topology under a load of a study: `niswar-rest-flat-100`."""
    return f"{study}-{topology}-{load}"


def replayed_in(summary: Summary) -> list[Replayed]:
    """What the summary of replayed studies has beside that of every run."""
    return cast("StudySummary", summary)["studies"]


def studies_in(manifest: dict[str, Any]) -> list[Study]:
    """The studies that a run replays."""
    return cast("list[Study]", manifest["studies"])
