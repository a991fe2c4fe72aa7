"""The whole of `summary.json`."""

# This module evaluates its annotations: in textual annotations, `NotRequired` would not affect `__required_keys__`.
from typing import Any, Literal, NotRequired, TypedDict

from hops.run.documents.cache import CacheCounts
from hops.run.documents.difference import Comparison, HopDifference
from hops.run.documents.distance import Distance
from hops.run.documents.gate import LeftOut, SummaryGate, TrialVerdict, Verdict
from hops.run.documents.meeting import Meeting, Queue
from hops.run.documents.network import NetworkSummary
from hops.run.documents.over_fetching import OverFetching, Saving
from hops.run.documents.topology import TopologySummary
from hops.run.documents.tracing import ObserverEffect
from hops.run.documents.trial import Program, ResourcesFrom

Mode = Literal["open", "closed"]
"""What decides when a journey starts: the tape, or virtual users, each of whom first waits for the previous answer."""


class ClosedLoop(TypedDict):
    """The load of a closed loop; if arms have different loads, `vus` and `think_s` are the largest."""

    vus: int
    think_s: float
    fewest: NotRequired[int]
    shortest_think_s: NotRequired[float]


class InUse(TypedDict):
    """How busy one topology kept the processors during the load.

    `machine` is the share of all processors of the machine, or of the cluster, that everything started by the run used
    together, 0 to 1; None if it was not counted. `component` is the busiest component of the shop, and `core` how much
    of one processor it used.
    """

    machine: float | None
    component: str
    core: float


class FailureReason(TypedDict):
    """Why journeys of one kind failed in one topology.

    `reason` is the first of the messages that differ only in numbers or quoted texts, and `count` their number.
    """

    topology: str
    journey: str
    outcome: str
    reason: str
    count: int


class Differing(TypedDict):
    """How many journeys of a kind on the tape got different answers in different trials.

    `steps` are the numbers, from 1, of the steps whose answers differed when the journey was sent alone; empty if
    unknown.
    """

    journey: str
    count: int
    steps: list[int]


class Precision(TypedDict):
    """The precision that a run with `precision=` requested and reached; shares: 0.05 is 5 %.

    Precision is how far a 95 % interval extends beyond its ratio, as a share of the ratio. The ratio is that of two
    topologies' p50 of `all`, and the pair with the widest interval counts. `scatter` is the scatter of single trials,
    averaged over the pairs. `needed` is the number of blocks that the precision needs with that scatter. Both are None
    if a pair has no interval. `first_stage` is the number of blocks that ran before any were read; `met` says whether
    enough blocks ran.
    """

    asked: float
    first_stage: int
    scatter: float | None
    needed: int | None
    reached: float | None
    met: bool


class Summary(TypedDict):
    """The whole file, as every kind of experiment has it; `hops.kinds` has what some kinds add.

    `verdicts` has a row per trial, and per block (without a topology). Some keys are optional, or None:

    - `closed` is None in an open loop; `meetings` is missing in a closed loop;
    - `queues` needs `meetings`, and recorded calls that waited;
    - `cache` has the rows requested from the cache, by topology and component, if there is a cache;
    - `precision` needs a requested precision;
    - `resources_from` needs a cluster;
    - `distance` needs the computed model of distance;
    - `network` needs an emulated network that all topologies share;
    - `compared` says what the arms are if they are not topologies: `target`, or `edge` for one topology behind several
      edges;
    - `failures` and `differing` need journeys that failed or were answered differently;
    - `programs` needs other programs that used the processors: the busiest, each in its worst trial;
    - `over_fetching` needs screens that show only some of what journeys read;
    - `selection` also needs arms that differ only in which clients select fields;
    - `traces_unrequested` counts, by target, the traces that the target recorded although none was requested.
    """

    schema: int
    name: str
    kind: str
    blocks: int
    verdicts: list[TrialVerdict]
    mode: Mode
    closed: ClosedLoop | None
    verdict: Verdict
    gates: list[SummaryGate]
    gates_left_out: list[LeftOut]
    tape: dict[str, Any]
    switches: dict[str, Any]
    topologies: dict[str, TopologySummary]
    observer_effect_ms: ObserverEffect
    comparisons: list[Comparison]
    hop_differences: list[HopDifference]
    resources_from: NotRequired[ResourcesFrom]
    in_use: NotRequired[dict[str, InUse]]
    cache: NotRequired[dict[str, dict[str, CacheCounts]]]
    compared: NotRequired[str]
    failures: NotRequired[list[FailureReason]]
    differing: NotRequired[list[Differing]]
    programs: NotRequired[list[Program]]
    traces_unrequested: NotRequired[dict[str, int]]
    meetings: NotRequired[list[Meeting]]
    queues: NotRequired[list[Queue]]
    precision: NotRequired[Precision]
    distance: NotRequired[Distance]
    network: NotRequired[NetworkSummary]
    over_fetching: NotRequired[list[OverFetching]]
    selection: NotRequired[list[Saving]]
