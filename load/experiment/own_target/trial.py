"""A trial of a target other than the shop: a check of every kind of journey, a warm-up, and the replay of the tape."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, cast
from urllib.parse import urlsplit

import polars as pl
import psutil

from experiment.errors import GeneratorError, UsageError
from experiment.generator.figures import busiest_cores, late_customers
from experiment.generator.shopload import BINARY, Shopload
from experiment.generator.tapes import Tapes, load_tapes
from experiment.own_target.addresses import entries_of, is_local, is_socket
from experiment.own_target.file import HERE
from experiment.own_target.traces import (
    budgets_of_target,
    count_unrequested,
    read_target_traces,
    stores_of,
    write_traces,
)
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.results.folder import ResultsFolder, write_json
from experiment.trial.edge_log import at_edge
from experiment.trial.outcome import EXEMPLARS, GENERATOR, JOURNEYS, Clock, Trial
from experiment.trial.probes import observe
from experiment.trial.resources import CLIENT, peak_memory_mb, peak_memory_of_all_mb
from experiment.trial.run import MAX_REST_S, REST_CORES, loads_of
from experiment.trial.sender import LocalSender
from hops.budget.bands import exemplars
from hops.budget.parts import Budget
from hops.conclusions.wording import join_names, plural
from hops.gates.evidence import evidence_of
from hops.gates.target_traces import TargetTraces
from hops.gates.trial import Observed
from hops.run.rows import RESOURCES, calls_frame, hops_frame, paths_frame, read_rows
from hops.traces.tree import Quality
from mesh.components.trial import network_of
from mesh.description.ports import HOST, Ports
from mesh.description.switches import Switches
from mesh.errors import MeshError
from mesh.resting import wait_for_rest

TARGET = "target"
"""Component name for the target's processes on this machine."""
ANSWERS = "answers.jsonl"


class TargetError(MeshError):
    """A target's answer differs from what its file expects; the message names the target, journey, step and check."""


@contextmanager
def leaving_nothing(folder: ResultsFolder) -> Iterator[None]:
    """Removes the folder of a run that is refused before it has measured anything, and so has nothing to resume."""
    try:
        yield
    except (TargetError, UsageError):
        if not folder.has_trials:
            folder.release()
            shutil.rmtree(folder.path)
        raise


@dataclass(frozen=True, slots=True)
class OwnTarget:
    """A target that is already running.

    Attributes:
        ports: Ports of the target's processes on this machine.
        sockets: Paths of the target's Unix sockets.
        sources: Addresses of the stores with the spans of target and load generator; empty if no journey is traced.
        store: Address of the run's own Jaeger if the target's spans go there; empty otherwise.
    """

    target: Path
    switches: Switches
    ports: Sequence[int]
    sockets: Sequence[str]
    journeys: Sequence[str]
    sources: Sequence[str] = ()
    store: str = ""
    database: None = None  # unknown

    def pids(self) -> Mapping[str, list[int]]:
        """Returns the processes that listen on the target's ports and sockets, as far as this user may see them."""
        listening = [one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
        pids = {one.pid for one in listening if one.laddr and one.laddr.port in self.ports and one.pid}
        if self.sockets:
            pids |= {one.pid for one in psutil.net_connections("unix") if str(one.laddr) in self.sockets and one.pid}
        return {TARGET: sorted(pids)} if pids else {}

    def check(self) -> None:
        """Does nothing: journeys fail if the target has ended."""


def require_steps(steps: Mapping[str, Any], source: Path) -> None:
    """Raises UsageError, before the run has a folder, if the generator refuses a step; the message names `source`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "steps.json"
        write_json(file, {**steps, "file": str(source)})
        # This is the shortest tape. Whether tables have enough rows depends on the load, so the load's tape shows that.
        Shopload(BINARY).tape(file, Path(folder) / "tape.jsonl", seed=1, rate=1, duration_s=1, scale=1, steps=True)


def make_tapes(shopload: Shopload, plan: Plan, steps: Path, folder: Path) -> Tapes:
    """Makes the tapes that all trials share; the check before the load sends the first journeys of the first tape.

    Raises:
        UsageError: A table has fewer rows than the journeys need.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = replace(plan.arms[0], load=None)  # arms that are chosen later have their own loads
    arms = {arm.tape: arm for arm in (first, *plan.arms)}
    loads = {name: load_tapes(shopload, plan, arm, steps, folder, steps=True) for name, arm in arms.items()}
    return Tapes(parity=loads[first.tape].load, spot_check=loads[first.tape].load, loads=loads)


def make_target(
    plan: Plan, steps: Path, folder: Path, name: str, switches: Switches, trial: str, ports: Ports
) -> OwnTarget:
    """Writes the load generator's target file for a trial, and returns the target."""
    place, sent = plan.about["targets"][name], plan.about["sent"]
    addresses = [urlsplit(url) for url in place["endpoints"].values()]
    document = {
        "topology": name,
        "trial": trial,
        "http": switches.http,
        "connections": switches.connections,
        "timeout_ms": 1000 * sent["timeout_s"],
        "steps": str(steps),
        "endpoints": entries_of(place["endpoints"]),
        "mine": sent["mine"],
        "otlp": sent["otlp"] or (f"{HOST}:{ports['jaeger-otlp-grpc']}" if sent["traces"] else ""),
        **({} if switches.reuse == "on" else {"fresh": True}),
        **sent["tls"],
        **network_of(switches),
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{PurePath(trial).name}.json"
    write_json(file, document)
    local = (url.port for url in addresses if url.port and is_local(url))
    listening = [*local, *place["ports"]]
    sockets = [url.path for url in addresses if is_socket(url)]
    stores = stores_of(sent["traces"], sent["otlp"], ports)
    store = ports.url("jaeger-query-http") if sent["traces"] == HERE else ""
    return OwnTarget(file, switches, listening, sockets, sent["journeys"], stores, store)


def run_own_trial(
    system: OwnTarget,
    shopload: Shopload,
    tapes: Tapes,
    arm: Arm,
    plan: Plan,
    folder: Path,
    *,
    say: Callable[[str], None],
    parity_in_full: bool = True,
    meanwhile: Callable[[], object] = lambda: None,
) -> Trial:
    """Runs one trial, as `experiment.trial.run.run_trial` does; raises TargetError if a journey in the check failed."""
    clock, sender = Clock(), LocalSender(system, shopload)
    warmup, load = loads_of(tapes, plan, arm)
    sending = plan.sending(arm)
    folder.mkdir(parents=True)
    if parity_in_full:
        checked = check(system, shopload, tapes, arm.label, folder / ANSWERS)
        rare = [name for name in system.journeys if name not in checked]
        say(
            f"{plural(len(checked), 'kind')} of journeys passed the check"
            + (f"; not checked, because they are not on this tape: {join_names(rare)}" if rare else "")
        )
    clock.lap("parity")
    say(f"warming up for {warmup.duration_s:g} s, not counted")
    sender.warm_up(warmup, folder / "warmup")
    meanwhile()
    clock.lap("warmup")
    with observe(arm.probe, system, shopload, load, folder, clock, say) as observed:
        say(f"replaying {load}")
        resources = (observed.sender or sender).replay(load, folder)
        ended_ns = time.time_ns()
    clock.lap("replay")
    if sending.overload:  # the target may still be working on abandoned journeys
        wait_for_rest(system, REST_CORES, MAX_REST_S)
        clock.lap("rest")
    journeys = read_rows(folder / JOURNEYS)
    generator = json.loads((folder / GENERATOR).read_text(encoding="utf-8"))
    cpu_s = {**resources.cpu_seconds(), CLIENT: float(generator["cpu_s"])}
    if system.sources:
        traced = _read_traces(system, journeys, ended_ns, folder, say)
        clock.lap("collect")
    else:
        traced = _Traced([], Quality())
        journeys = journeys.with_columns(sampled=pl.lit(value=False))  # the target's traces are not read
    looked_at = Observed(
        journeys_planned=load.tape.journeys,
        parity_mismatches=None,
        invariants_broken=None,
        generator_cores=busiest_cores(generator),
        steal_share=resources.steal_share(),
        other_cores=resources.other_cores(cpu_s.values()),
        disk_stall_share=resources.disk_stall_share(),
        spans_dropped=int(generator["spans_dropped"]),
        late_customers=late_customers(generator),
        audited=False,
        stress=sending.overload,
        closed=load.closed is not None,
        tape_exhausted=load.closed is not None and bool(generator["closed"]["tape_exhausted"]),
        of_the_shop=False,
        target=traced.lacking,
    )
    evidence = evidence_of(journeys, traced.budgets, traced.quality, looked_at)
    clock.lap("analysis")
    return Trial(
        journeys=at_edge(journeys, None),
        hops=hops_frame(traced.budgets),
        calls=calls_frame(traced.budgets),
        paths=paths_frame(traced.budgets, journeys),
        resources=pl.DataFrame([asdict(sample) for sample in resources.samples], schema=RESOURCES),
        evidence=evidence,
        generator=generator,
        exemplars=traced.exemplars,
        cpu_s=cpu_s,
        rss_mb=peak_memory_mb(resources.samples),
        memory_mb=peak_memory_of_all_mb(resources.samples),
        phases_s=clock.phases_s,
        machine_speed=resources.machine_speed(),
        programs=resources.other_programs(),
        observed=observed.rows,
        unrequested=traced.unrequested,
    )


@dataclass(frozen=True, slots=True)
class _Traced:
    """What a trial's traces say."""

    budgets: Sequence[Budget]
    quality: Quality
    lacking: TargetTraces | None = None
    exemplars: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unrequested: int | None = None


def _read_traces(
    system: OwnTarget, journeys: pl.DataFrame, ended_ns: int, folder: Path, say: Callable[[str], None]
) -> _Traced:
    """Reads the traces of the sampled journeys, and saves the exemplars."""
    ids = journeys.filter(pl.col("sampled"))["trace_id"].to_list()
    say(f"reading {plural(len(ids), 'trace')} until no more spans arrive")
    traces = read_target_traces(system.sources, ids, say=say)
    budgets, quality, lacking = budgets_of_target(traces)
    chosen = exemplars(hops_frame(budgets))
    write_traces((traces[trace_id] for of in chosen.values() for trace_id in of.values()), folder / EXEMPLARS)
    if not system.store:
        return _Traced(budgets, quality, lacking, chosen)
    # The generator opens connections with requests outside any journey; these precede the first journey.
    first_ns = cast("int", journeys["started_ns"].min() or ended_ns)
    unrequested = count_unrequested(system.store, ids, first_ns, ended_ns)
    return _Traced(budgets, quality, lacking, chosen, unrequested)


def check(system: OwnTarget, shopload: Shopload, tapes: Tapes, name: str, out: Path) -> list[str]:
    """Sends the first journey of each kind on the tape, before any load, and returns the kinds.

    Raises:
        TargetError: A journey failed, or could not be sent.
        UsageError: A step does not fit the description of its gRPC method; the message names the target file's line.
    """
    try:
        answers = shopload.sample(tapes.parity, system.target, out, each=True)
    except GeneratorError as error:
        why = str(error).removeprefix("shopload sample failed: ")
        raise TargetError(f"target {name} cannot be loaded: {why}") from error
    wrong = [f"  journey {one['journey']}: {one['error']}" for one in answers if one["outcome"] != "ok"]
    if wrong:
        listed = "\n".join(wrong)
        raise TargetError(f"target {name} does not answer as its file says, so nothing was loaded:\n{listed}")
    return list(dict.fromkeys(one["journey"] for one in answers))
