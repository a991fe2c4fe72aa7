"""Measures what tracing costs a REST read: every request traced against none, in turns on one running system.

Each round sends the same reads twice through the edge, in a closed loop that leaves no core idle: once traced, once
not, in an order that alternates from round to round. CPU time is read when nothing is under way, and after the last
span has reached Jaeger, so that work which a component puts off until the load is over is counted too.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from experiment.errors import GeneratorError
from experiment.generator.shopload import Load, Shopload, stop
from experiment.plan.closed_loop import ClosedLoop
from experiment.proofs.tracing_cost import Cpu, Round, Run, TracingCost, tracing_cost
from experiment.trial.outcome import GENERATOR, JOURNEYS
from experiment.trial.replay import DRAIN_S
from experiment.trial.resources import CLIENT
from hops.run.rows import read_journeys
from hops.traces.jaeger import read_traces
from mesh.components.span_accounts import spans_lost
from mesh.native.system import System
from mesh.paths import ROOT

WORKLOAD = ROOT / "load" / "workloads" / "product-reads.yaml"
USERS = ClosedLoop(vus=16, think_s=0.0)
"""Requests under way at once: enough that no core waits for the next one."""
TAPE_RATE = 6_000.0
"""More than any topology answers on two cores, so that a tape outlasts its run."""
SETTLED_S = 2.0
"""No more spans come when Jaeger has stored none for so long: exporters send what they have at least every second."""
LOOK_S = 0.5
READ_TRACES = 20
"""Traces that are read for the number of spans of each component."""

Say = Callable[[str], None]
"""Told what is going on."""


@dataclass(slots=True)
class Bench:
    """Sends reads to a running system, traced and untraced.

    Attributes:
        system: System to send to.
        shopload: The generator.
        load: The reads.
        folder: Where the generator's files go.
    """

    system: System
    shopload: Shopload
    load: Load
    folder: Path
    _runs: int = 0
    _traced: list[str] = field(default_factory=list)

    def measure(self, rounds: int, say: Say) -> TracingCost:
        """Runs the rounds.

        Args:
            rounds: How many rounds.
            say: Told how each went.

        Raises:
            GeneratorError: A request failed.
            ComponentDiedError: A component ended.
            HopsError: The traces could not be read.
        """
        say("a traced run that is not counted")
        self.run(trace=1)
        done: list[Round] = []
        for number in range(rounds):
            runs = {trace: self.run(trace=trace) for trace in ((0, 1) if number % 2 else (1, 0))}
            done.append(Round(untraced=runs[0], traced=runs[1]))
            say(f"round {number + 1} of {rounds}: {runs[0].rate:,.0f}/s untraced, {runs[1].rate:,.0f}/s traced")
        return tracing_cost(done, self.spans())

    def run(self, *, trace: int) -> Run:
        """Sends the reads once, and waits until their last span is stored."""
        self._runs += 1
        out = self.folder / f"run-{self._runs}"
        before, stored_before, lost_before = self._cpu(), self.system.span_counts().stored, self._lost()
        process = self.shopload.start_replay(self.load, self.system.target, out, trace=trace)
        try:
            while process.poll() is None:
                self.system.check()
                time.sleep(LOOK_S)
            self.shopload.finish_replay(process)
        finally:
            stop(process)
        stored = self._settled()
        after = self._cpu()
        generator = json.loads((out / GENERATOR).read_text(encoding="utf-8"))
        _require_sound(generator)
        if trace:
            journeys = read_journeys(out / JOURNEYS)
            self._traced = journeys["trace_id"].tail(READ_TRACES).to_list()
        cpu = {name: after[name].since(before[name]) for name in after if name in before}
        export_s = float(generator["tracing"]["export_cpu_s"]) if trace else 0.0
        client = Cpu(0.0, float(generator["cpu_s"]) + export_s, export_s)
        return Run(
            requests=int(generator["journeys"]),
            wall_s=float(generator["wall_s"]),
            cpu={**cpu, CLIENT: client},
            spans=stored - stored_before,
            lost=self._lost() - lost_before + int(generator["spans_dropped"]),
        )

    def spans(self) -> dict[str, float]:
        """How many spans each component makes of a request, from the last traces; Jaeger stores all of them."""
        traces = read_traces(self.system.ports.url("jaeger-query-http"), self._traced, patience_s=DRAIN_S).traces
        made = Counter(span.service for spans in traces.values() for span in spans)
        return {name: count / len(traces) for name, count in made.items()}

    def _settled(self) -> int:
        """Waits until no more spans come, and returns how many Jaeger has stored."""
        until, stored = time.monotonic() + DRAIN_S, self.system.span_counts().stored
        since = time.monotonic()
        while time.monotonic() < min(until, since + SETTLED_S):
            time.sleep(LOOK_S)
            before, stored = stored, self.system.span_counts().stored
            if stored != before:
                since = time.monotonic()
        return stored

    def _lost(self) -> int:
        return self.system.span_counts().lost + spans_lost(self.system.span_accounts())

    def _cpu(self) -> dict[str, Cpu]:
        accounts = self.system.span_accounts()
        return {
            name: cpu_of(pids, accounts[name].export_cpu_s if name in accounts else 0.0)
            for name, pids in self.system.pids().items()
        }


def cpu_of(pids: Iterable[int], export_s: float) -> Cpu:
    """CPU time that processes have used so far; one that ends meanwhile counts as none.

    Args:
        pids: The processes.
        export_s: What they say that it took to encode and send spans.
    """
    main_s = all_s = 0.0
    for pid in set(pids):
        with contextlib.suppress(psutil.Error):
            threads = psutil.Process(pid).threads()
            main_s += sum(thread.user_time + thread.system_time for thread in threads if thread.id == pid)
            all_s += sum(thread.user_time + thread.system_time for thread in threads)
    return Cpu(main_s, all_s, export_s)


def _require_sound(generator: Mapping[str, Any]) -> None:
    failed = {outcome: count for outcome, count in generator["outcomes"].items() if count and outcome != "ok"}
    if failed:
        told = ", ".join(f"{count} {outcome}" for outcome, count in failed.items())
        raise GeneratorError(f"{sum(failed.values())} of {generator['journeys']} reads failed ({told})")
    if generator["closed"]["tape_exhausted"]:
        raise GeneratorError(
            f"the system answered more than {TAPE_RATE:,.0f} reads a second, which the tape is made for"
        )
