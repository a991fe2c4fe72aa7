"""One trial, as `trials.json` keeps it."""

from __future__ import annotations

from typing import Any, TypedDict

from hops.run.documents.cache import CacheCounts, EdgeCacheCounts
from hops.run.documents.gate import Gate, LeftOut
from hops.run.documents.tracing import TracingRecord


class ResourcesFrom(TypedDict):
    """What counted CPU seconds and memory in a cluster (`kubelet` or `metrics API`), and how exactly.

    `resolution_s` is the longest time that one CPU figure is a mean over.
    """

    source: str
    resolution_s: float


class OfCluster(TypedDict, total=False):
    """What is there in a cluster only."""

    resources_from: ResourcesFrom


class _Speed(TypedDict, total=False):
    """What older records lack: how many times a second the machine did a fixed piece of work around the trial."""

    machine_speed: float


class _Traced(TypedDict, total=False):
    """What records of untraced trials lack."""

    tracing: TracingRecord


class _Cached(TypedDict, total=False):
    """What there is with a cache only, by component."""

    cache: dict[str, CacheCounts]


class _EdgeCached(TypedDict, total=False):
    """What there is with a shared cache in front of the edge only."""

    edge_cache: EdgeCacheCounts


class Program(TypedDict):
    """A program that used the processors and is no part of the run, and how many cores it used."""

    name: str
    pid: int
    cores: float


class _Disturbed(TypedDict, total=False):
    """What records lack if no other program used the processors, or nobody looked: the busiest ones."""

    programs: list[Program]


class Fault(TypedDict):
    """What was done to a trial's system during the load, when, and what the audit of purchases found after it.

    Attributes:
        fault: The fault and its target: `kill:order`.
        began_ns: When it began, in nanoseconds of the Unix epoch.
        ended_ns: When it had ended; a kill ends when the component is ready again.
        checkouts: Purchases that were confirmed to customers, repeated ones included.
        repeated: Purchases that failed, and were repeated with the same key.
        unanswered: How many of these failed again.
        settle_s: How long after the load sagas were under way or updates waited to be delivered.
        unsettled: How many still were at the end.
        broken: Promises about the shop's data that do not hold.
    """

    fault: str
    began_ns: int
    ended_ns: int
    checkouts: int
    repeated: int
    unanswered: int
    settle_s: float
    unsettled: int
    broken: list[str]


class _Struck(TypedDict, total=False):
    """What there is in a trial with a fault only."""

    fault: Fault


class _OfTarget(TypedDict, total=False):
    """Traces that a target recorded and nobody asked for, where its spans come to the run's own Jaeger."""

    traces_unrequested: int


class TrialRecord(_Speed, OfCluster, _Traced, _Cached, _EdgeCached, _Disturbed, _Struck, _OfTarget):
    """One trial, as `trials.json` keeps it. `used` is false for one that a later attempt replaces."""

    block: int
    topology: str
    attempt: int
    position: int
    used: bool
    gates: list[Gate]
    gates_left_out: list[LeftOut]
    began: str
    ended: str
    commit: str
    phases_s: dict[str, float]
    answers_sha256: str
    cpu_s: dict[str, float]
    rss_mb: dict[str, float]
    memory_peak_mb: float
    generator: dict[str, Any]
    exemplars: dict[str, dict[str, str]]
