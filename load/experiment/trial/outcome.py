"""The outcome of a trial: its rows, the evidence for its gates, and the length of each phase."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from experiment.trial.resources import Origin
    from hops.gates.trial import Evidence
    from hops.run.documents.cache import CacheCounts, EdgeCacheCounts
    from hops.run.documents.tracing import TracingRecord
    from hops.run.documents.trial import Fault, Program

FRAMES = ("journeys", "hops", "resources", "calls", "paths")
"""Tables of every trial; each is a parquet file in the trial's folder."""
PARITY = "parity_answers.jsonl"
EXEMPLARS = "exemplars.jsonl"
TRACES = "traces.jsonl"
VEGETA = "vegeta.gob"
GENERATOR = "generator.json"
JOURNEYS = "journeys.jsonl"
"""Other files in a trial's folder."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a trial.

    Attributes:
        journeys: A row for each journey (`hops.run.rows.JOURNEYS`).
        hops: A row for each trace and part (`hops.run.rows.HOPS`).
        calls: A row for each call from one component to another (`hops.run.rows.CALLS`).
        paths: A row for each journey and call path (`hops.run.rows.PATHS`).
        resources: A row for each component and sample (`hops.run.rows.RESOURCES`).
        rss_mb: Peak memory of each component, MiB.
        memory_mb: Peak memory of all components together, MiB.
        machine_speed: Speed of the machine during the load (`MachineSpeed`); None if unknown.
            None for a step, whose system keeps running.
        origin: Source of CPU seconds and memory; None for this machine's kernel.
        cache: Requests to the cache during the load, by component; empty without a cache.
        observed: The rows of the trial's probe (`hops.run.rows.OBSERVED`), by the name of their file.
        edge_cache: Counts of a shared cache in front of the edge during the load; None without such a cache.
        tracing: The spans, and the cost of each; None if nothing was traced.
        unrequested: Number of traces that a target recorded during the load without being asked; None if unknown.
    """

    journeys: pl.DataFrame
    hops: pl.DataFrame
    calls: pl.DataFrame
    paths: pl.DataFrame
    resources: pl.DataFrame
    evidence: Evidence
    generator: Mapping[str, Any]
    exemplars: Mapping[str, Mapping[str, str]]
    cpu_s: Mapping[str, float]
    rss_mb: Mapping[str, float]
    memory_mb: float
    phases_s: Mapping[str, float]
    machine_speed: float | None = None
    origin: Origin | None = None
    cache: Mapping[str, CacheCounts] = field(default_factory=dict)
    edge_cache: EdgeCacheCounts | None = None
    tracing: TracingRecord | None = None
    programs: Sequence[Program] = ()
    fault: Fault | None = None
    unrequested: int | None = None
    observed: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(slots=True)
class Clock:
    """Measures how long each phase takes; a phase may have several laps."""

    phases_s: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def lap(self, phase: str) -> None:
        """Ends a phase; the next phase begins now."""
        now = time.monotonic()
        self.phases_s[phase] = round(self.phases_s.get(phase, 0.0) + now - self._since, 3)
        self._since = now
