"""A synthetic sweep, stress test or overload: for tests, and to look at its report without a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hops.gates.trial import Evidence, evaluate, left_out
from hops.kinds.capacity.document import SCHEMA, Document, Kind, Step, TopologyResult
from hops.run.documents.trial import TrialRecord
from hops.synthetic.run import COMMIT, MACHINE
from hops.synthetic.shop import shape_of, topology_document

TOPOLOGIES = ("hybrid", "rest")


def step(
    *,
    p50: float | None = 11.0,
    p99: float | None = 62.0,
    p99_high: float | None = 71.0,
    journeys: int = 800,
    planned: int = 800,
    failures: int = 0,
    generator_cores: float = 0.1,
    steal_share: float = 0.0,
    other_cores: float = 0.02,
    **changes: Any,
) -> Step:
    """A step at 80 journeys a second that is as it should be, but for what is given."""
    evidence = Evidence(
        parity_mismatches=0,
        invariants_broken=len(changes.get("broken", [])),
        journeys_planned=planned,
        journeys_sent=journeys,
        start_lag_p99_ms=0.2,
        start_lag_mean_ms=0.2,
        answer_lag_ms=0.3,
        spans_missing=0,
        spans_outside=0,
        latency_median_ms=p50,
        generator_cores=generator_cores,
        failures=failures,
        steal_share=steal_share,
        other_cores=other_cores,
        disk_stall_share=0.0,
        traced=False,
        stress=changes.get("phase") in ("stress", "overload"),
    )
    record = TrialRecord(
        block=1,
        topology="hybrid",
        attempt=1,
        position=1,
        used=True,
        gates=evaluate(evidence),
        gates_left_out=left_out(evidence),
        began="2026-11-21T04:00:00.000+00:00",
        ended="2026-11-21T04:00:12.000+00:00",
        commit="abc",
        phases_s={"replay": 10.5},
        answers_sha256="abc",
        cpu_s={"client": 1.0, "edge": 1.0, "postgres": 1.0, "jaeger": 0.1, "order": 6.9},
        rss_mb={"edge": 30.0},
        memory_peak_mb=600.0,
        generator={"journeys": journeys, "connections": 4, "wall_s": 10.0},
        exemplars={},
    )
    made = Step(
        **record,
        phase="search",
        rate=80.0,
        users=None,
        duration_s=10.0,
        throughput_per_s=79.5,
        latency_ms={"p50": p50, "p99": p99},
        latency_ci95={"p50": [10.0, 12.0], "p99": [None if p99 is None else 0.9 * p99, p99_high]},
        errors={"client": 0, "server": failures, "timeout": 0, "wrong_answer": 0},
        messages={},
        under_way_most=9,
        broken=[],
        recovery_s=None,
        holds=None,
        reasons=[],
    )
    made.update(changes)  # type: ignore[typeddict-item]
    return made


def synthetic_document(kind: Kind = "sweep") -> Document:
    """Two topologies: a sweep confirms one, and the generator limits the other; under load, one of them fails."""
    made: dict[Kind, Callable[[str, bool], list[Step]]] = {
        "sweep": _swept,
        "stress": _stressed,
        "overload": _overloaded,
    }
    options: dict[Kind, dict[str, Any]] = {
        "sweep": {"objective_ms": 100.0},
        "stress": {"think_s": 10.0},
        "overload": {"objective_ms": 100.0, "factors": [1, 5]},
    }
    steps, results = [], {}
    for topology in TOPOLOGIES:
        limited = topology == "rest"
        steps += made[kind](topology, limited)
        results[topology] = (
            TopologyResult(rate=40.0, failed=80.0, limit="generator" if limited else "shop", tried=[40.0], stopped=None)
            if kind != "stress"
            else TopologyResult(rate=None, failed=None, limit="unknown", tried=[], stopped=None)
        )
    name = f"20261121T040000Z-{kind}"
    return Document(
        schema=SCHEMA,
        kind=kind,
        name=name,
        complete=True,
        manifest={
            "kind": kind,
            "name": name,
            "git": {"commit": COMMIT, "dirty": False},
            "machine": MACHINE,
            "topologies": {topology: topology_document(topology, shape_of(topology)) for topology in TOPOLOGIES},
            "switches": {"edge": "envoy"},
            "workload": "default.yaml",
            "seeds": {"tape": 1, "data": 1},
            "began": "2026-11-21T04:00:00+00:00",
            "ended": "2026-11-21T04:09:00+00:00",
        },
        options=options[kind],
        results=results,
        steps=steps,
    )


def _swept(topology: str, limited: bool) -> list[Step]:
    cores = 0.9 if limited else 0.1
    steps = [
        step(
            topology=topology,
            position=number,
            rate=rate,
            p99=p99,
            p99_high=1.2 * p99,
            generator_cores=cores,
            holds=p99 < 100.0,
        )
        for number, (rate, p99) in enumerate([(20.0, 40.0), (40.0, 60.0), (80.0, 300.0)], start=1)
    ]
    steps[-1]["reasons"] = ["p99 is 300 ms, not below 100"]
    confirming = step(topology=topology, position=4, phase="confirm", rate=40.0, p99_high=80.0, holds=True)
    return [*steps, confirming]


def _stressed(topology: str, failing: bool) -> list[Step]:
    steps = [
        step(
            topology=topology,
            position=number,
            phase="stress",
            rate=None,
            users=users,
            p99=0.3 * users,
            p99_high=0.4 * users,
        )
        for number, users in enumerate([100, 300, 1000], start=1)
    ]
    if failing:
        steps[-1] |= {"errors": steps[-1]["errors"] | {"timeout": 40}, "messages": {"timeout: it took 5 s": 40}}
    return steps


def _overloaded(topology: str, failing: bool) -> list[Step]:
    steps = [
        step(
            topology=topology,
            position=number,
            phase="overload",
            rate=40.0 * factor,
            throughput_per_s=38.0,
            p99=90.0 * factor,
            p99_high=120.0 * factor,
            recovery_s=float(factor),
        )
        for number, factor in enumerate([1, 5], start=1)
    ]
    if failing:
        steps[-1] |= {"throughput_per_s": 10.0, "errors": steps[-1]["errors"] | {"server": 700}, "recovery_s": None}
    return steps
