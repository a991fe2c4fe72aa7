"""Computes a run's summary from its files; the same files always give the same figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import polars as pl

from hops.analysis.comparisons import compare_cpu, compare_latencies, correct
from hops.analysis.cost import TOTAL, in_use_of, used_by_group
from hops.analysis.distance import distance_of
from hops.analysis.failures import differing_of, failures_of
from hops.analysis.hop_differences import hop_differences
from hops.analysis.latencies import Latencies, latencies_of
from hops.analysis.meetings import meetings_of, queues_of
from hops.analysis.observer import observer_effect_of
from hops.analysis.over_fetching import over_fetching_of, savings_of
from hops.analysis.precision import precision_of
from hops.analysis.topology import summarise_topology
from hops.elements.compared import EDGE, TARGET
from hops.errors import MalformedRunError
from hops.gates.experiment import experiment_gates, experiment_gates_left_out, verdicts
from hops.gates.verdict import failing_gates, verdict_of, with_verdicts
from hops.run.documents import SCHEMA
from hops.run.documents.difference import Comparison
from hops.run.documents.gate import Gate, LeftOut
from hops.run.documents.summary import Summary
from hops.run.documents.topology import TopologySummary
from hops.run.documents.trial import Program
from hops.run.files import RunFiles
from hops.run.loads import is_closed, overloads
from hops.run.network import network_summary
from hops.run.rows import select_rows
from hops.run.switches import compares_edges, is_of_the_shop, selection_pairs, switches_of

_MAX_STRETCHES = 10_000
"""Maximum number of stretches of rows that are sliced without a copy; a run writes one stretch for each trial."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The data from which a kind of experiment computes its own figures, by topology or arm.

    Args:
        journeys: Rows of `rows.JOURNEYS` with `block` as the first column.
        hops: Rows of `rows.HOPS` with `block` as the first column, only of journeys that ended ok.
    """

    run: RunFiles
    journeys: Mapping[str, pl.DataFrame]
    hops: Mapping[str, pl.DataFrame]
    latencies: Mapping[str, Latencies]
    topologies: Mapping[str, TopologySummary]
    load: Mapping[str, int]
    blocks: Mapping[str, set[int]]


MAX_PROGRAMS = 5
#: Gives the pairs of topologies or arms to compare; None for every pair.
PairsOf = Callable[[RunFiles], list[tuple[str, str]] | None]
#: Gives what a kind adds to the summary, besides the figures of every run.
FiguresOf = Callable[[Measured], Mapping[str, Any]]
#: Gives the gates of a run, and the gates left out, from its files and what its kind adds to the summary.
GatesOf = Callable[[RunFiles, Mapping[str, Any]], tuple[list[Gate], list[LeftOut]]]


def every_pair(_run: RunFiles) -> None:
    """Compares every pair of topologies."""


def no_pairs(_run: RunFiles) -> list[tuple[str, str]]:
    """Compares no arms: their loads or faults differ by design, or the experiment asks about each arm alone."""
    return []


def distance_figures(measured: Measured) -> Mapping[str, Any]:
    """Predicts how distance affects the latencies of the topologies."""
    manifest = measured.run.manifest
    if any(switches_of(manifest, one).get("edge_cache", "none") != "none" for one in measured.topologies):
        return {}  # answers from a cache cross no network
    return {"distance": distance_of(measured.run, measured.topologies)}


def every_gate(run: RunFiles, _figures: Mapping[str, Any]) -> tuple[list[Gate], list[LeftOut]]:
    """Evaluates the gates of all trials."""
    return experiment_gates(run), experiment_gates_left_out(run)


def summarise(
    run: RunFiles, *, name: str, pairs_of: PairsOf, figures_of: FiguresOf, gates_of: GatesOf = every_gate
) -> Summary:
    """Makes a run's summary.

    Raises:
        MalformedRunError: The files contradict each other.
    """
    check_run(run)
    manifest = run.manifest
    seed = int(manifest["seeds"]["bootstrap"])
    rows = {topology: run.journeys.filter(pl.col("topology") == topology) for topology in run.topologies}
    hops = of_ok(run, run.hops)
    latencies = {topology: latencies_of(frame, run.first_stage) for topology, frame in rows.items()}
    used = {topology: used_by_group(run, topology) for topology in rows}
    topologies = {
        topology: summarise_topology(run, topology, frame, hops[topology], latencies[topology], used[topology], seed)
        for topology, frame in rows.items()
    }
    pairs = pairs_of(run)
    comparisons = compare_latencies(latencies, pairs)
    comparisons += compare_cpu(
        {topology: groups[TOTAL] for topology, groups in used.items() if TOTAL in groups}, pairs, run.first_stage
    )
    correct(comparisons)
    load, blocks = load_of(run), blocks_of(run)
    figures = figures_of(Measured(run, rows, hops, latencies, topologies, load, blocks))
    gates, gates_left_out = gates_of(run, figures)
    summary = Summary(
        schema=SCHEMA,
        name=name,
        kind=manifest["kind"],
        blocks=run.blocks,
        verdicts=verdicts(run),
        mode=manifest["mode"],
        closed=manifest["closed"],
        verdict=verdict_of(gates),
        gates=with_verdicts(gates),
        gates_left_out=gates_left_out,
        tape=_tape(run),
        switches=manifest["switches"],
        topologies=topologies,
        observer_effect_ms=observer_effect_of(run, seed=seed),
        comparisons=comparisons,
        hop_differences=hop_differences(hops, load, blocks, pairs, run.first_stage),
    )
    whole = cast(
        "Summary", {**summary, **_where_known(run, rows, topologies, comparisons, failing_gates(gates)), **figures}
    )
    if savings := savings_of(whole, selection_pairs(manifest)):
        whole["selection"] = savings
    return whole


def _where_known(
    run: RunFiles,
    rows: Mapping[str, pl.DataFrame],
    topologies: Mapping[str, TopologySummary],
    comparisons: list[Comparison],
    failing: Sequence[str],
) -> dict[str, Any]:
    """Returns the fields that only some runs have, by the names in `Summary`."""
    every = {
        "programs": _programs(run),
        "in_use": in_use_of(run),
        "cache": run.cache,
        "failures": failures_of(run),
        "differing": differing_of(run) if "answers_differ" in failing else None,
        "compared": _name_of_compared(run.manifest),
        "traces_unrequested": _traces_unrequested(run),
        **_at_the_same_time(run, rows),
        "precision": precision_of(run, comparisons),
        "network": _network(run.manifest),
        "over_fetching": over_fetching_of(run, topologies),
        "resources_from": run.resources_from,
    }
    return {name: value for name, value in every.items() if value or name == "meetings"}


def _name_of_compared(manifest: Mapping[str, Any]) -> str | None:
    """Returns the kind of arms that the run compares; None for topologies."""
    if not is_of_the_shop(manifest):
        return TARGET.one
    return EDGE.one if compares_edges(manifest) else None


def _traces_unrequested(run: RunFiles) -> dict[str, int]:
    counts: dict[str, int] = {}
    for trial in run.used:
        if "traces_unrequested" in trial:
            counts[trial["topology"]] = counts.get(trial["topology"], 0) + trial["traces_unrequested"]
    return counts


def _at_the_same_time(run: RunFiles, rows: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Analyses what ran at the same time as journeys, and what they waited for, if arrivals are planned.

    In a closed loop, arrivals depend on earlier waiting; in an overload, every journey waits for every other.
    """
    manifest = run.manifest
    planned = [name for name in rows if not is_closed(manifest, name) and not overloads(manifest, name)]
    if manifest["mode"] != "open" and not planned:
        return {}
    # Only if all topologies share a tape did the same arrivals meet other work in other topologies.
    by_tape: dict[str, dict[str, pl.DataFrame]] = {}
    for topology in planned:
        by_tape.setdefault(run.tape_of(topology), {})[topology] = rows[topology]
    meetings = [meeting for sharing in by_tape.values() for meeting in meetings_of(sharing)]
    return {"meetings": meetings, "queues": queues_of(rows, run.calls)}


def _network(manifest: Mapping[str, Any]) -> object:
    """Returns the emulated network that all arms share; None if there is no network or they differ."""
    arms = manifest.get("arms", {"": manifest["switches"]}).values()
    network, *others = (network_summary(arm) for arm in arms)
    return network if all(other == network for other in others) else None


def check_run(run: RunFiles) -> None:
    """Refuses, with `MalformedRunError`, a run whose tables and trials contradict each other."""
    planned = {(row["block"], row["topology"]) for row in run.used}
    measured = set(run.journeys.select("block", "topology").unique().iter_rows())
    if planned != measured:
        odd = ", ".join(f"block {block} of {topology}" for block, topology in sorted(planned ^ measured))
        raise MalformedRunError(f"{run.path}: trials.json and journeys.parquet list different trials: {odd}")
    unmeasured = [topology for topology in run.topologies if topology not in {name for _, name in measured}]
    if unmeasured:
        raise MalformedRunError(f"{run.path}: there is no trial of {', '.join(unmeasured)}")


def of_ok(run: RunFiles, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Selects the rows of traces whose journeys ended ok, by topology."""
    ok = run.journeys.filter((pl.col("outcome") == "ok") & pl.col("sampled"))["trace_id"]
    # One topology at a time, with a mask: a join would need several copies of everything in memory.
    return {
        topology: select_rows(own, own["trace_id"].is_in(ok.implode()))
        for topology, own in _by_topology(rows, run.topologies).items()
    }


def _by_topology(rows: pl.DataFrame, topologies: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Splits rows by topology, without a copy if a run wrote its trials one after the other."""
    stretches = rows["topology"].rle().struct.unnest()
    if stretches.height > _MAX_STRETCHES:
        return {topology: rows.filter(pl.col("topology") == topology) for topology in topologies}
    slices: dict[str, list[pl.DataFrame]] = {topology: [] for topology in topologies}
    start = 0
    for length, topology in stretches.iter_rows():
        if topology in slices:
            slices[topology].append(rows.slice(start, length))
        start += length
    return {topology: pl.concat(own) if own else rows.clear() for topology, own in slices.items()}


def _programs(run: RunFiles) -> list[Program]:
    """Lists the busiest other programs in trials that fail the gate on the CPU of other programs."""
    worst: dict[tuple[str, int], Program] = {}
    for trial in run.used:
        if "other_cores" in failing_gates(trial["gates"]):
            for program in trial.get("programs", []):
                known = worst.setdefault((program["name"], program["pid"]), program)
                if program["cores"] > known["cores"]:
                    worst[program["name"], program["pid"]] = program
    return sorted(worst.values(), key=lambda program: -program["cores"])[:MAX_PROGRAMS]


def _tape(run: RunFiles) -> dict[str, object]:
    """Describes the tape; `answers_sha256` is None if trials got different answers."""
    answers = {row["answers_sha256"] for row in run.used}
    lengths = [row["generator"].get("tape_journeys") for row in run.used]
    return {
        "sha256": run.manifest["tapes"]["load"],
        "journeys": run.manifest.get("journeys", lengths[0]),
        "seed": run.manifest["seeds"]["tape"],
        "answers_sha256": answers.pop() if len(answers) == 1 else None,
    }


def load_of(run: RunFiles) -> dict[str, int]:
    """Counts how often each journey occurs in the load of all trials."""
    return dict(cast("list[tuple[str, int]]", run.journeys.group_by("journey").len().rows()))


def blocks_of(run: RunFiles) -> dict[str, set[int]]:
    """Lists the blocks of each topology."""
    blocks: dict[str, set[int]] = {topology: set() for topology in run.topologies}
    for row in run.used:
        blocks[row["topology"]].add(row["block"])
    return blocks
