"""Replays a load on a running system, and collects the evidence afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import cast

import polars as pl

from experiment.generator.figures import busiest_cores, by_node, late_customers
from experiment.generator.shopload import Load, Shopload
from experiment.results.folder import write_json
from experiment.trial.audit import auditing
from experiment.trial.edge_log import at_edge, read_edge_log
from experiment.trial.exemplars import save
from experiment.trial.outcome import EXEMPLARS, GENERATOR, JOURNEYS, TRACES, Clock, Trial
from experiment.trial.resources import CLIENT, peak_memory_mb, peak_memory_of_all_mb
from experiment.trial.sender import Sender, sender_of
from experiment.trial.span_costs import Spans, spans_of, tracing_record
from hops.budget.bands import exemplars
from hops.budget.parts import Budget, budgets_of, component_of
from hops.gates.evidence import evidence_of
from hops.gates.trial import NOT_AUDITED, Observed, Sidecars
from hops.run.documents.cache import CacheCounts, EdgeCacheCounts
from hops.run.fault_notice import aborts
from hops.run.rows import RESOURCES, calls_frame, hops_frame, paths_frame, read_rows
from hops.traces.clocks import Clocks
from hops.traces.jaeger import read_traces
from hops.traces.tree import Quality, grow
from hops.units import NS_PER_MS
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.components.telemetry_files import spans_lost
from mesh.description.topology import SERVICES
from mesh.runtime import Runtime

DRAIN_S = 20.0
"""Seconds that the last spans may take from their process to Jaeger."""


class Replay:
    """A replay of a load on a running system, and its evidence.

    Args:
        reference: SHA-256 of the correct answers, by `seq`; None if only the parity sample was compared.
        sender: Sends the load; None for the usual sender.

    Raises:
        ComponentDiedError: A component ended during the load.
        GeneratorError: The generator failed.

    Attributes:
        audited: Whether the data is in the database, where `collect` can audit it.
        broken: The broken promises about the shop's data that `collect` found.
    """

    def __init__(
        self,
        system: Runtime,
        shopload: Shopload,
        load: Load,
        folder: Path,
        clock: Clock,
        reference: Mapping[str, str] | None = None,
        sender: Sender | None = None,
    ) -> None:
        self._reference = reference
        self.audited = system.switches.store == "postgres"
        self.broken: list[str] = []
        self._system = system
        self._load = load
        self._folder = folder
        self._clock = clock
        self._budgets: list[Budget] = []
        self._quality = Quality()
        self._exemplars: Mapping[str, Mapping[str, str]] = {}
        self._hops = hops_frame([])
        self._spans: Spans = {}
        self._refused_before = system.span_counts().lost
        self._refused = 0
        self._lost_before = spans_lost(system.span_accounts())
        self._sidecars: Sidecars | None = None
        self._clock_offset_ms: float | None = None
        cached_before = system.edge_cache_counts()
        began_s = time.time()
        self._resources = (sender or sender_of(system, shopload)).replay(load, folder)
        self._load_s = began_s, time.time()
        self._edge_cache = {name: n - cached_before[name] for name, n in system.edge_cache_counts().items()}
        self._journeys = read_rows(folder / JOURNEYS)
        self._generator = json.loads((folder / GENERATOR).read_text(encoding="utf-8"))
        clock.lap("replay")

    @property
    def rows(self) -> pl.DataFrame:
        """A row for each journey (`hops.run.rows.JOURNEYS`)."""
        return self._journeys

    @property
    def journeys(self) -> list[str]:
        """The trace ids of all journeys, sampled or not."""
        return self._journeys["trace_id"].to_list()

    @property
    def sampled(self) -> list[str]:
        """The trace ids of the sampled journeys."""
        return self._journeys.filter(pl.col("sampled"))["trace_id"].to_list()

    @property
    def audit_in_words(self) -> str:
        """The audit's finding in words."""
        if not self.audited:
            return f"left out; {NOT_AUDITED}"
        return f"BROKEN: {'; '.join(self.broken)}" if self.broken else "every invariant of the shop holds"

    def collect(
        self, acknowledged: Path, release_services: Callable[[], None] = lambda: None, *, keep_traces: bool = False
    ) -> None:
        """Reads the traces, saves the exemplars, reads the sidecars' counts, and audits the data if a database has it.

        The system must still run.

        Args:
            acknowledged: File with rows of journeys; the data must include all checkouts that ended ok.
            release_services: Called when gateways and services are no longer needed; the audit runs meanwhile.
            keep_traces: Whether to save the traces of all sampled journeys in the folder.

        Raises:
            MeshError: The audit failed.
            HopsError: The traces could not be read.
        """
        system = self._system
        self._sidecars = sidecars_of(system)
        store = system.database.admin_url, TRIAL_DATABASE
        with auditing(*store, acknowledged) if self.audited else nullcontext() as findings:
            release_services()
            self._clock.lap("stop")
            self._read_traces(keep_traces)
            if findings is not None:
                self._note_audit(findings())
        self._clock.lap("collect")

    def _read_traces(self, keep: bool) -> None:
        system, jaeger = self._system, self._system.ports.url("jaeger-query-http")
        traces = read_traces(jaeger, self.sampled, patience_s=DRAIN_S)
        self._budgets, self._quality = budgets_of(traces.values(), with_paths=True)
        if system.switches.in_cluster:
            clocks = Clocks(lambda span: system.node_of(component_of(span.service)))
            for spans in traces.values():
                clocks.add(grow(spans))
            self._clock_offset_ms = max((abs(one.ahead_ns) for one in clocks.estimates()), default=0) / NS_PER_MS
        names = dict(self._journeys.select("trace_id", "journey").iter_rows())
        self._spans = spans_of((names[trace_id], spans) for trace_id, spans in traces.items())
        self._hops = hops_frame(self._budgets)
        self._exemplars = exemplars(self._hops)
        save(jaeger, self._exemplars, self._folder / EXEMPLARS)
        if keep:
            save(jaeger, {"all": {trace_id: trace_id for trace_id in traces}}, self._folder / TRACES)
        self._refused = system.span_counts().lost - self._refused_before

    def _note_audit(self, printed: str) -> None:
        findings = json.loads(printed)
        write_json(self._folder / "audit.json", findings)
        self.broken = [finding["promise"] for finding in findings["invariants"] if not finding["ok"]]

    def trial(self, *, overload: bool = False, edge_log: Path | None = None) -> Trial:
        """Makes the outcome of the trial.

        Args:
            overload: Whether the load is meant to cause failures, which then fail no gate.
            edge_log: Log of the stopped edge; a running edge buffers the last lines.
        """
        generator, resources, closed = self._generator, self._resources, self._load.closed
        logged = None if edge_log is None else read_edge_log(edge_log, self.journeys)
        # Processes report the cost of their spans when the system stops.
        lost = self._refused + spans_lost(self._system.span_accounts()) - self._lost_before
        # The generator's own account includes its last moments, which samples may miss.
        cpu_s = {**resources.cpu_seconds(), CLIENT: float(generator["cpu_s"])}
        observed = Observed(
            journeys_planned=self._load.tape.journeys,
            # A difference in the parity sample would have ended the trial earlier.
            parity_mismatches=0 if self._reference is None else wrong_answers(self._journeys, self._reference),
            invariants_broken=len(self.broken) if self.audited else None,
            generator_cores=busiest_cores(generator),
            steal_share=resources.steal_share(),
            other_cores=resources.other_cores(cpu_s.values()),
            disk_stall_share=resources.disk_stall_share(),
            spans_dropped=int(generator["spans_dropped"]) + lost,
            sidecars=self._sidecars,
            clock_offset_ms=self._clock_offset_ms,
            audited=self.audited,
            stress=overload or bool(aborts(self._system.switches.as_dict())),
            closed=closed is not None,
            tape_exhausted=closed is not None and bool(generator["closed"]["tape_exhausted"]),
            late_customers=late_customers(generator),
        )
        keepers = SERVICES if self._system.switches.store == "postgres" else ()
        evidence = evidence_of(
            self._journeys,
            self._budgets,
            self._quality,
            observed,
            logged=logged,
            load_nodes=len(by_node(generator)),
            keepers=keepers,
        )
        accounts = {name: account.cost_ns for name, account in self._system.span_accounts().items()}
        self._clock.lap("analysis")
        return Trial(
            journeys=at_edge(self._journeys, logged),
            hops=self._hops,
            calls=calls_frame(self._budgets),
            paths=paths_frame(self._budgets, self._journeys),
            resources=pl.DataFrame([asdict(sample) for sample in resources.samples], schema=RESOURCES),
            evidence=evidence,
            generator=generator,
            exemplars=self._exemplars,
            cpu_s=cpu_s,
            rss_mb=peak_memory_mb(resources.samples),
            memory_mb=peak_memory_of_all_mb(resources.samples),
            phases_s=self._clock.phases_s,
            machine_speed=resources.machine_speed(),
            origin=resources.origin,
            cache={
                name: CacheCounts(asked=one.asked, hits=one.hits, unanswered=one.unanswered)
                for name, one in self._system.cache_counts(*self._load_s).items()
            },
            edge_cache=cast("EdgeCacheCounts | None", self._edge_cache or None),
            programs=resources.other_programs(),
            tracing=tracing_record(self._spans, accounts, generator) if self._spans else None,
        )


def sidecars_of(system: Runtime) -> Sidecars | None:
    """Reads the counts of a running system's sidecars, evidence for a mesh's gates; None without a mesh."""
    facts = system.sidecar_facts()
    if facts is None:
        return None
    encrypted = system.switches.encrypted
    return Sidecars(silent=facts.silent, refused=facts.refused, unencrypted=facts.unencrypted, encrypted=encrypted)


def wrong_answers(journeys: pl.DataFrame, reference: Mapping[str, str]) -> int:
    """Counts the journeys that ended ok with a wrong answer.

    Args:
        reference: SHA-256 of the correct answers, by `seq`; journeys without an entry may have any answer.
    """
    ok = journeys.filter(pl.col("outcome") == "ok").select("seq", "answer_sha256")
    return sum(reference.get(str(seq), sha256) != sha256 for seq, sha256 in ok.iter_rows())
