"""The whole of `summary.json`."""

# Annotations are evaluated here: as text, `NotRequired` would not count in `__required_keys__`.
from typing import Any, Literal, NotRequired, TypedDict

from hops.run.documents.cache import CacheCounts
from hops.run.documents.difference import Comparison, HopDifference
from hops.run.documents.distance import Distance
from hops.run.documents.failures import Differing, FailureReason
from hops.run.documents.gate import LeftOut, SummaryGate, TrialVerdict, Verdict
from hops.run.documents.in_use import InUse
from hops.run.documents.meeting import Meeting, Queue
from hops.run.documents.network import NetworkSummary
from hops.run.documents.over_fetching import OverFetching
from hops.run.documents.precision import Precision
from hops.run.documents.topology import TopologySummary
from hops.run.documents.tracing import ObserverEffect
from hops.run.documents.trial import OfCluster, Program

Mode = Literal["open", "closed"]
"""What decides when a journey starts: the tape, or virtual users, each once it has its last answer."""


class ClosedLoop(TypedDict):
    """What drove a closed loop; where arms have different numbers of users, `vus` are the most."""

    vus: int
    think_s: float
    fewest: NotRequired[int]


class Summary(OfCluster):
    """The whole file, as far as every kind of experiment has it; `hops.kinds` has what some kinds add.

    `closed` is None in an open loop. `verdicts` has a row per trial, and per block (no topology). `cache` has what
    was asked of the cache, by topology and component, where there was one. `precision` is there only if one was
    asked for, `meetings` not in a closed loop, `queues` only beside them and where calls that waited were recorded,
    `distance` only where the model of distance was computed, and `network` only if one was emulated, the same one
    for all topologies. `compared` says what its topologies are where that is something else: `target`, or `edge` for
    one topology behind several edges. `failures` and `differing` are there only where journeys failed or were answered
    differently, `programs` only where others used the processors: the busiest, each in its worst trial.
    `over_fetching` is there only if screens show a part of what journeys read.
    `traces_unrequested` counts, by target, the traces that it recorded and nobody asked for.
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
