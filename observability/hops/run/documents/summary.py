"""The whole of `summary.json`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hops.run.documents.difference import Comparison, HopDifference
from hops.run.documents.distance import Distance
from hops.run.documents.gate import Gate, LeftOut, Verdict
from hops.run.documents.ladder import Ladder
from hops.run.documents.network import NetworkSummary
from hops.run.documents.precision import Precision
from hops.run.documents.rtt import DistanceCheck
from hops.run.documents.topology import TopologySummary
from hops.run.documents.tracing import ObserverEffect
from hops.run.documents.trial import OfCluster

Mode = Literal["open", "closed"]
"""What decides when a journey starts: the tape, or virtual users, each once it has its last answer."""


class ClosedLoop(TypedDict):
    """What drove a closed loop."""

    vus: int
    think_s: float


class _OfLadder(TypedDict, total=False):
    """What only a ladder has."""

    ladder: Ladder


class _OfDistance(TypedDict, total=False):
    """What a ladder lacks."""

    distance: Distance


class _OfNetwork(TypedDict, total=False):
    """What is there only if a network was emulated, and the same one for all topologies."""

    network: NetworkSummary


class _OfRtt(TypedDict, total=False):
    """What only an experiment over distances has."""

    rtt: DistanceCheck


class _OfPrecision(TypedDict, total=False):
    """What is there only if a precision was asked for."""

    precision: Precision


class Summary(_OfPrecision, _OfLadder, _OfDistance, _OfRtt, OfCluster, _OfNetwork):
    """The whole file. `closed` is None in an open loop. `verdicts` has a row per trial, and per block (no topology)."""

    schema: int
    name: str
    kind: Literal["bench", "compare", "ladder", "rtt"]
    blocks: int
    verdicts: list[Verdict]
    mode: Mode
    closed: ClosedLoop | None
    valid: bool
    gates: list[Gate]
    gates_left_out: list[LeftOut]
    tape: dict[str, Any]
    switches: dict[str, Any]
    topologies: dict[str, TopologySummary]
    observer_effect_ms: ObserverEffect
    comparisons: list[Comparison]
    hop_differences: list[HopDifference]
