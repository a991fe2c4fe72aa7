"""One trial, as `trials.json` keeps it."""

from __future__ import annotations

from typing import Any, TypedDict

from hops.run.documents.cache import CacheCounts, EdgeCacheCounts
from hops.run.documents.gate import Gate, LeftOut
from hops.run.documents.tracing import TracingRecord


class ResourcesFrom(TypedDict):
    """Source of CPU seconds and memory in a cluster (`kubelet` or `metrics API`), and its precision.

    `resolution_s` is the longest time over which one CPU figure is a mean.
    """

    source: str
    resolution_s: float


class OfCluster(TypedDict, total=False):
    """Keys that only runs in a cluster have."""

    resources_from: ResourcesFrom


class _Speed(TypedDict, total=False):
    """Key that older records lack: how many times a second the machine did a fixed piece of work around the trial."""

    machine_speed: float


class _Traced(TypedDict, total=False):
    """Keys that records of untraced trials lack."""

    tracing: TracingRecord


class _Cached(TypedDict, total=False):
    """Keys that only trials with a cache have, by component."""

    cache: dict[str, CacheCounts]


class _EdgeCached(TypedDict, total=False):
    """Keys that only trials with a shared cache in front of the edge have."""

    edge_cache: EdgeCacheCounts


class Program(TypedDict):
    """A program that used the processors and is not part of the run, and how many cores it used."""

    name: str
    pid: int
    cores: float


class _Disturbed(TypedDict, total=False):
    """The busiest other programs; records lack this key if no such program used the processors, or nothing checked."""

    programs: list[Program]


class Fault(TypedDict):
    """What was done to a trial's system during the load, when, and the result of the audit of purchases after it.

    Attributes:
        fault: The fault and its target, such as `kill:order`.
        began_ns: Start of the fault, Unix time, ns.
        ended_ns: End of the fault, Unix time, ns; a kill ends when the component is ready again.
        repeated: Purchases that failed, and were repeated with the same key.
        unanswered: How many of the repeated purchases failed again.
        settle_s: For how long after the load some sagas were under way, or updates were waiting to be delivered.
        unsettled: How many of these sagas and updates had still not ended after `settle_s`.
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
    """Keys that only trials with a fault have."""

    fault: Fault


class _OfTarget(TypedDict, total=False):
    """Traces that a target recorded although none was requested, if its spans go to the run's own Jaeger."""

    traces_unrequested: int


class TrialRecord(_Speed, OfCluster, _Traced, _Cached, _EdgeCached, _Disturbed, _Struck, _OfTarget):
    """One trial, as in `trials.json`. `used` is false for a trial that a later attempt replaces."""

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
