"""How much load topologies can sustain, and what happens under more load, from the rows of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, cast

from hops.analysis.summary import Measured
from hops.gates.experiment import experiment_gates, experiment_gates_left_out, worst_of
from hops.gates.limits import kind_of
from hops.kinds.capacity.blocks import rate_held, rate_ratio, widest_step
from hops.kinds.capacity.course import take_course
from hops.kinds.capacity.document import KIND, Asked, Capacity, HeldRatio, Phase, Result, Step, find_claimed
from hops.kinds.capacity.search import NO_RESULT
from hops.kinds.capacity.steps import GENERATOR_GATES, step_of
from hops.run.documents.gate import Gate, LeftOut
from hops.run.files import RunFiles

_INVARIANTS = "invariants_broken"


class _StoppedError(Exception):
    """The rows end before the course of steps is complete."""


def capacity_figures(measured: Measured) -> Mapping[str, Capacity]:
    """Computes the figures that only a capacity run has."""
    run = measured.run
    asked = cast("Asked", run.manifest[KIND])
    steps, stopped = list(_steps(measured, asked)), run.manifest["stopped"]
    names = dict.fromkeys([*(step["topology"] for step in steps), *stopped])
    results = {name: _result(asked, name, steps, stopped.get(name)) for name in names}
    capacity = Capacity(asked=asked, steps=steps, results=results)
    if asked.get("blocks", 1) > 1 and asked["search"] is not None:
        capacity["ratios"] = _ratios(results)
    return {KIND: capacity}


def gates_of(run: RunFiles, figures: Mapping[str, Any]) -> tuple[list[Gate], list[LeftOut]]:
    """Evaluates the gates of the steps that the results rest on, and two gates that only a capacity run has.

    A search goes above what a topology can sustain, so its steps fail gates by design; only the shop's data must be
    right after every step. If the generator could not keep up, the step reports it, and the result reads "at least".
    """
    capacity: Capacity = figures[KIND]
    results = capacity["results"]
    counted = [step["label"] for name in results for step in find_claimed(capacity, name)]
    gates: list[Gate] = []
    left_out: list[LeftOut] = []
    if counted:
        part = run.of_arms({label: label for label in counted})
        gates = [gate for gate in experiment_gates(part) if gate["name"] not in (*GENERATOR_GATES, _INVARIANTS)]
        left_out = [row for row in experiment_gates_left_out(part) if row["name"] not in GENERATOR_GATES]
    gates += [gate for gate in worst_of(run.used) if gate["name"] == _INVARIANTS]
    gates.append(kind_of("stopped").evaluate(sum(one["stopped"] is not None for one in results.values())))
    if capacity["asked"]["load"] != "stress":
        found = [rate for one in results.values() for rate in one.get("searches") or [one["rate"]]]
        gates.append(kind_of("without_rate").evaluate(found.count(None)))
    reason = "a step in which the generator could not keep up says so itself"
    return gates, [*left_out, *(LeftOut(name=name, reason=reason) for name in GENERATOR_GATES)]


def _steps(measured: Measured, asked: Asked) -> Iterator[Step]:
    run = measured.run
    trials = {trial["topology"]: trial for trial in run.used}
    for label, rows in measured.journeys.items():
        load = run.manifest["loads"][label]
        phase = cast("Phase", load["name"].partition("-")[0])
        topology = run.manifest["topologies"][label]["name"]
        yield step_of(topology, phase, trials[label], rows, load, asked["objective_ms"] or 0.0)


def _result(asked: Asked, topology: str, steps: list[Step], stopped: str | None) -> Result:
    blocks = asked.get("blocks", 1)
    remaining = iter([step for step in steps if step["topology"] == topology])

    def next_one(phase: Phase, amount: float, held: float) -> Step:  # noqa: ARG001 - the rows tell
        step = next(remaining, None)
        if step is None or step["phase"] != phase:
            raise _StoppedError
        return step

    searches = []
    try:
        searches = [take_course(asked, topology, next_one) for _ in range(blocks)]
    except _StoppedError:
        stopped = stopped or "the run was interrupted"
    lowest = min((one for one in searches if one.rate), key=lambda one: one.rate or 0.0, default=NO_RESULT)
    if lowest is NO_RESULT and searches:
        lowest = searches[0]
    tried = [rate for one in searches for rate in one.tried]
    limit = next((one.limit for one in searches if one.rate and one.limit != "shop"), lowest.limit)
    result = Result(rate=lowest.rate, failed=lowest.failed, limit=limit, tried=tried, stopped=stopped)
    if blocks > 1 and asked["search"] is not None:
        rates, step = [one.rate for one in searches], widest_step(searches, asked["search"]["precision"])
        result |= {"searches": rates, "step": step, "held": rate_held(rates, step)}
    return result


def _ratios(results: Mapping[str, Result]) -> list[HeldRatio]:
    """Compares the topologies whose rates are known; of the others, only a lower bound is known."""
    ratios = []
    for left, right in combinations([name for name, one in results.items() if one["limit"] == "shop"], 2):
        one, other = results[left], results[right]
        ratio = rate_ratio(one["searches"], other["searches"], max(one["step"], other["step"]))
        if ratio is not None:
            ratios.append(HeldRatio(left=left, right=right, ratio=ratio))
    return ratios
