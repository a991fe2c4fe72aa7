"""What a sweep, a stress test or an overload leaves, such as `sweep.json`, and what can be asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from hops.analysis.cost import GENERATOR_GROUP, TOTAL, component_group
from hops.gates.experiment import worst_of
from hops.gates.verdict import Doubt, doubt_of, failing_gates
from hops.run.documents.trial import TrialRecord
from hops.run.files import read_document

SCHEMA = 3
Kind = Literal["sweep", "stress", "overload"]
Phase = Literal["search", "confirm", "stress", "overload"]
STAIRS = (0.5, 0.0, 0.0, 0.5, 0.5)
"""The rate in each equal part of an overload, in units of what the topology holds; 0 for the peak's."""
PEAK_BEGINS, PEAK_PARTS = 1, 2

GENERATOR_GATES = ("tape_unsent", "tape_exhausted", "start_lag_p99_ms", "generator_cores")
"""Gates that say whether the generator kept up. A step in which it did not may fail for that reason alone; one that
holds all the same still holds, since latency counts from the intended arrival."""


class Step(TrialRecord):
    """A step: the record of its trial, and what only a step has.

    `position` is the step's number among those of its topology. `rate` (journeys a second) is None in a closed loop,
    `users` in an open one. `throughput_per_s` counts the journeys that ended ok while the load lasted. Latencies are as
    in `summary.json`, of all journeys that ended ok: from the intended arrival in an open loop, from the start in a
    closed one. `errors` are counts by class, `messages` the most frequent of each in words. `broken` are the promises
    about the shop's data that do not hold after the step; `holds` and `reasons` are the verdict of a sweep. Of an
    overload, `rate`, `throughput_per_s`, latencies, `errors` and `messages` are those of its peak; `recovery_s` says
    how many seconds after it all was well again, None if it was not before the load ended.
    """

    phase: Phase
    rate: float | None
    users: int | None
    duration_s: float
    throughput_per_s: float
    latency_ms: dict[str, float | None]
    latency_ci95: dict[str, list[float | None]]
    errors: dict[str, int]
    messages: dict[str, int]
    under_way_most: int
    broken: list[str]
    recovery_s: float | None
    holds: bool | None
    reasons: list[str]


class TopologyResult(TypedDict):
    """The result of one topology.

    `rate` is the highest rate that was confirmed, `failed` the lowest that was seen to fail, `limit` what stood between
    (`shop`, `generator`, `max_rate` or `unknown`); a stress test has None, None and `unknown`; of an overload `rate` is
    what its peaks are multiples of, given or found by a search without a confirmation. `stopped` says why the
    topology came to its end before the steps did.
    """

    rate: float | None
    failed: float | None
    limit: str
    tried: list[float]
    stopped: str | None


class Document(TypedDict):
    """The whole file. `complete` is false while steps are still to come, and for good if they never came.

    `options` are the user's choices; `results` has an entry for each topology that is finished.
    """

    schema: int
    kind: Kind
    name: str
    complete: bool
    manifest: dict[str, Any]
    options: dict[str, Any]
    results: dict[str, TopologyResult]
    steps: list[Step]


def read_capacity(path: Path) -> Document:
    """Reads the document of a sweep or a stress test.

    Raises:
        MalformedRunError: It is missing, cut short, or of another schema; names the file and what to do.
    """
    return cast("Document", read_document(path, SCHEMA))


def topologies(document: Document) -> list[str]:
    """The topologies with steps or a result, in the order in which they ran."""
    return list(dict.fromkeys([*(step["topology"] for step in document["steps"]), *document["results"]]))


def by_load(document: Document, topology: str) -> list[Step]:
    """A topology's steps by rising load, those of one load in their order."""
    steps = [step for step in document["steps"] if step["topology"] == topology]
    return sorted(steps, key=lambda step: (load_of(step), step["position"]))


def confirmed(document: Document, topology: str) -> Step | None:
    """The step that confirmed a topology's rate; None if none did."""
    result = document["results"].get(topology)
    if result is None or result["rate"] is None:
        return None
    steps = [step for step in by_load(document, topology) if step["phase"] == "confirm" and step["holds"]]
    return next((step for step in steps if step["rate"] == result["rate"]), None)


def claimed(document: Document, topology: str) -> list[Step]:
    """The steps that a topology's result rests on: the one that confirmed its rate, or all users' or peaks'."""
    if document["kind"] != "sweep":
        return [step for step in by_load(document, topology) if step["phase"] == document["kind"]]
    step = confirmed(document, topology)
    return [] if step is None else [step]


def doubts_about(document: Document, topology: str) -> list[Doubt]:
    """Why a topology's figures must not be trusted, or are not there; empty if they are sound."""
    result = document["results"].get(topology)
    if result is None:
        return [Doubt("not finished")]
    doubts = [Doubt(f"stopped: {result['stopped']}")] if result["stopped"] else []
    if document["kind"] != "stress" and not result["stopped"] and result["rate"] is None:
        doubts.append(Doubt("no rate was confirmed" if document["kind"] == "sweep" else "no rate was held"))
    broken = dict.fromkeys(promise for step in by_load(document, topology) for promise in step["broken"])
    doubts += [Doubt(f"invariant broken: {promise}") for promise in broken]
    told = (*GENERATOR_GATES, "invariants_broken")
    gates = worst_of(claimed(document, topology))
    return doubts + [doubt_of(gate) for gate in gates if not gate["ok"] and gate["name"] not in told]


def load_of(step: Step) -> float:
    """The rate or the users of a step."""
    return step["rate"] if step["rate"] is not None else float(step["users"] or 0)


def cores(step: Step, group: str) -> float:
    """CPU seconds of a group of components for each second of the replay.

    Args:
        step: The step.
        group: One of `hops.analysis.cost.GROUPS`; `total` is the shop with its database and telemetry.
    """
    groups = {name: component_group(name) for name in step["cpu_s"]}
    counted = [name for name in groups if groups[name] == group or (group == TOTAL and groups[name] != GENERATOR_GROUP)]
    return sum(step["cpu_s"][name] for name in counted) / float(step["generator"]["wall_s"])


def gate_value(step: Step, name: str) -> float | None:
    """The value of one gate; None if it was left out or not measured."""
    return next((gate["value"] for gate in step["gates"] if gate["name"] == name), None)


def generator_limits(step: Step) -> list[str]:
    """The gates that say that the generator could not keep up."""
    return [name for name in failing_gates(step["gates"]) if name in GENERATOR_GATES]
