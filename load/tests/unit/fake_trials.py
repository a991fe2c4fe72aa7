"""Fake trials, whose outcomes are made up without starting anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.plan.probes import Holding, Probe, Watching
from experiment.trial.outcome import Trial
from experiment.trial.resources import Origin
from hops.gates.trial import Evidence
from hops.kinds.watch.analysis import NOBODY
from hops.run.documents.trial import Fault, Program
from hops.run.rows import CALLS, HOPS, JOURNEYS, LOOKS, PATHS, RESOURCES, WATCHED
from hops.units import NS_PER_MS


def fake_trial(
    *,
    failures: int = 0,
    rows: int = 1,
    origin: Origin | None = None,
    latency_ms: float | None = None,
    other_cores: float = 0.0,
    machine_speed: float = 20.0,
) -> Trial:
    """Makes a trial with `rows` journeys; a failure makes it WRONG. Without `latency_ms`, no latency is fixed."""
    evidence = Evidence(
        parity_mismatches=0, invariants_broken=0, journeys_planned=rows, journeys_sent=rows, start_lag_p99_ms=0.1,
        start_lag_mean_ms=0.2, answer_lag_ms=0.3, spans_missing=0, spans_outside=0, latency_median_ms=5.0,
        generator_cores=0.1, failures=failures, steal_share=0.0, other_cores=other_cores, disk_stall_share=0.0,
        traced=False,
    )  # fmt: skip
    # random text does not compress, so many rows fill a small disk
    journeys = pl.DataFrame({"seq": range(rows), "error": [os.urandom(8).hex() for _ in range(rows)]})
    if latency_ms is not None:
        latency_ns = pl.lit(latency_ms * NS_PER_MS)
        journeys = journeys.with_columns(
            latency_ns=latency_ns, journey=pl.lit("browse"), outcome=pl.lit("ok"), channel=pl.lit("web")
        )
    return Trial(
        journeys=journeys,
        hops=HOPS.to_frame(),
        resources=RESOURCES.to_frame(),
        calls=CALLS.to_frame(),
        paths=PATHS.to_frame(),
        evidence=evidence,
        generator={"answers_sha256": "ab"},
        exemplars={"all": {"p50": "1", "p99": "2"}},
        cpu_s={"order": 1.0},
        rss_mb={"order": 50.0},
        memory_mb=50.0,
        phases_s={"replay": 20.0},
        machine_speed=machine_speed,
        origin=origin,
        programs=[Program(name="cc1", pid=12, cores=other_cores)] if other_cores else [],
    )


class FakeRuns:
    """Stands in for `run_trial`, and records the trials.

    Args:
        outcomes: Results of the attempts at `<block>-<topology>`, one after another: a number of failures, or an
            error. All other attempts succeed.
        latency_ms: Returns the latency of journeys, from `<block>-<topology>` and the attempt.
        other_cores: Cores that another program uses during the Nth trial.
        machine_speed: Speed of the machine during the Nth trial.
    """

    def __init__(
        self,
        outcomes: dict[str, list[int | BaseException]] | None = None,
        latency_ms: Callable[[str, int], float] | None = None,
        *,
        other_cores: Callable[[int], float] = lambda number: 0.0,
        machine_speed: Callable[[int], float] = lambda number: 20.0,
    ) -> None:
        self.outcomes = outcomes or {}
        self.latency_ms = latency_ms
        self.other_cores = other_cores
        self.machine_speed = machine_speed
        self.ran: list[str] = []
        self.in_full: list[bool] = []
        self.meanwhile: list[Callable[[], object]] = []

    def __call__(
        self, system: Any, *arguments: Any, parity_in_full: bool, meanwhile: Callable[[], object], **_: Any
    ) -> Trial:
        folder: Path = arguments[4]
        folder.mkdir(parents=True)
        name = str(system.trial).rsplit("/", 1)[-1]
        self.ran.append(name)
        self.in_full.append(parity_in_full)
        self.meanwhile.append(meanwhile)
        (folder / "journeys.jsonl").write_text(name)
        planned = self.outcomes.get(name, [])
        outcome = planned.pop(0) if planned else 0
        if isinstance(outcome, BaseException):
            raise outcome
        if self.latency_ms is None:
            number = len(self.ran)
            speed = self.machine_speed(number)
            return fake_trial(failures=outcome, other_cores=self.other_cores(number), machine_speed=speed)
        return fake_trial(failures=outcome, rows=20, latency_ms=self.latency_ms(name, self.ran.count(name)))


JOURNEYS_SENT = ("browse", "bulk_lines")


def whole_trial(arm: Arm, plan: Plan) -> Trial:
    """Makes a trial with all rows that analyses need; above 60 journeys per second, latencies are ten times as long."""
    sending = plan.sending(arm)
    rate = max([sending.rate, *(sending.rate * share for share in sending.steps)])
    count = 480
    arrived_ns = [int(number / count * sending.duration_s * 1e9) for number in range(count)]
    took_ns = [int((10.0 + number % 7) * (30 if rate > 60 else 1) * NS_PER_MS) for number in range(count)]
    same = {"mode": "open", "channel": "web", "error": "", "order_id": None, "answer_sha256": "ab", "sampled": False}
    counts = dict.fromkeys(name for name, kind in JOURNEYS.items() if kind == pl.Int64 and name != "order_id")
    journeys = pl.DataFrame(
        {
            **{name: [1] * count for name in counts},
            **{name: [value] * count for name, value in same.items()},
            "seq": range(count),
            "journey": [JOURNEYS_SENT[number % 2] for number in range(count)],
            "outcome": ["ok"] * count,
            "intended_ns": arrived_ns,
            "started_ns": arrived_ns,
            "ended_ns": [at + took for at, took in zip(arrived_ns, took_ns, strict=True)],
            "latency_ns": took_ns,
            "trace_id": [f"{number:032x}" for number in range(count)],
        },
        schema=JOURNEYS,
    )
    resources = pl.DataFrame(
        [{"at_ns": at, "component": "order", "cpu_s": 1.0, "memory_mb": 50.0, "processes": 1} for at in (1, 10**9)],
        schema=RESOURCES,
    )
    generator: dict[str, Any] = {"answers_sha256": "ab", "wall_s": 1.0, "journeys": int(sending.rate), "connections": 4}
    fault = None
    if arm.fault:
        audit = {"checkouts": 240, "repeated": 0, "unanswered": 0, "settle_s": 0.0, "unsettled": 0, "broken": []}
        fault = Fault(fault=arm.fault, began_ns=4 * 10**9, ended_ns=5 * 10**9, **audit)  # type: ignore[typeddict-item]
    if isinstance(arm.probe, Watching):
        generator["watchers"] = {**NOBODY, "protocol": "grpc", "open_s": 1.0}
    trial = replace(fake_trial(rows=count), journeys=journeys, resources=resources, generator=generator, fault=fault)
    return trial if arm.probe is None else replace(trial, observed=observed_by(arm.probe))


def observed_by(probe: Probe) -> dict[str, pl.DataFrame]:
    """Makes the rows of a probe: an update, or a component whose resources are constant for an hour."""
    if isinstance(probe, Watching):
        update = (1, 1, 0, 8_000_000, False, False, "", False, 0)
        return {"updates": pl.DataFrame([update], schema=WATCHED, orient="row"), "update_hops": HOPS.to_frame()}
    counts = probe.counts if isinstance(probe, Holding) else (0,)
    looks = [(60.0 * look, held, "order", 50.0, 9, 4, held, 40.0) for held in counts for look in range(60)]
    return {"looks": pl.DataFrame(looks, schema=LOOKS, orient="row")}
