"""One trial, as `trials.json` keeps it."""

from __future__ import annotations

from typing import Any, TypedDict

from hops.run.documents.cache import CacheCounts
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


class Program(TypedDict):
    """A program that used the processors and is no part of the run, and how many cores it used."""

    name: str
    pid: int
    cores: float


class _Disturbed(TypedDict, total=False):
    """What records lack if no other program used the processors, or nobody looked: the busiest ones."""

    programs: list[Program]


class TrialRecord(_Speed, OfCluster, _Traced, _Cached, _Disturbed):
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
