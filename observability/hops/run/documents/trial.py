"""One trial, as `trials.json` keeps it."""

# This module evaluates its annotations: in textual annotations, `NotRequired` would not affect `__required_keys__`.
from typing import Any, NotRequired, TypedDict

from hops.run.documents.cache import CacheCounts, EdgeCacheCounts
from hops.run.documents.gate import Gate, LeftOut
from hops.run.documents.tracing import TracingRecord


class ResourcesFrom(TypedDict):
    """Source of CPU seconds and memory in a cluster (`kubelet` or `metrics API`), and its precision.

    `resolution_s` is the longest time over which one CPU figure is a mean.
    """

    source: str
    resolution_s: float


class Program(TypedDict):
    """A program that used the processors and is not part of the run, and how many cores it used."""

    name: str
    pid: int
    cores: float


class Fault(TypedDict):
    """What was done to a trial's system during the load, when, and the result of the audit of purchases after it.

    Attributes:
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


class TrialRecord(TypedDict):
    """One trial, as in `trials.json`. `used` is false for a trial that a later attempt replaces.

    Some keys may be missing:

    - `machine_speed`, unless the load was on other machines: how many rounds of a small loop the machine did per CPU
      microsecond during the load;
    - `resources_from`, unless the trial ran in a cluster;
    - `tracing`, in records of untraced trials;
    - `cache`, by component, and `edge_cache`, unless the trial had such a cache;
    - `programs`, the busiest other programs, if none used the processors, or nothing checked;
    - `fault`, in trials without a fault;
    - `traces_unrequested`, unless a target's spans go to the run's own Jaeger: traces that the target recorded although
      none was requested.
    """

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
    machine_speed: NotRequired[float]
    resources_from: NotRequired[ResourcesFrom]
    tracing: NotRequired[TracingRecord]
    cache: NotRequired[dict[str, CacheCounts]]
    edge_cache: NotRequired[EdgeCacheCounts]
    programs: NotRequired[list[Program]]
    fault: NotRequired[Fault]
    traces_unrequested: NotRequired[int]
