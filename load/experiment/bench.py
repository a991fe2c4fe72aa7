"""`make topology=hybrid bench`: one trial of one topology, from nothing to a figure and a verdict."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.text import Text

from experiment.closed_loop import ClosedLoop
from experiment.manifest import git_state, machine, versions
from experiment.profiles import Profile
from experiment.results import ResultsFolder, read_json
from experiment.shopload import Shopload
from experiment.trial import VEGETA, Tapes, Trial, make_tapes, run_trial
from hops import render
from hops.figures import ClosedLoop as ClosedLoopSummary
from hops.figures import Summary
from hops.gates import evaluate, left_out
from hops.summary import observer_effect_of, summarise, write_summary
from hops.tables import write_parquet
from mesh.paths import ROOT
from mesh.ports import Ports
from mesh.shop_processes import Data
from mesh.switches import Switches
from mesh.system import System
from mesh.topology import Topology

#: Data and bootstrap are seeded by this; the tape by the user's seed.
DATA_SEED = 1
BINARY = ROOT / ".tools" / "bin" / "shopload"


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose for a bench.

    Attributes:
        topology: What runs.
        switches: How it runs.
        profile: How long and how hard.
        seed: Of the tape.
        workload: What arrives.
        results: The folder of all results.
        closed: The closed loop that takes the journeys; None if they go at the tape's times.
    """

    topology: Topology
    switches: Switches
    profile: Profile
    seed: int
    workload: Path
    results: Path
    closed: ClosedLoop | None = None


def bench(options: Options, ports: Ports, *, environ: Mapping[str, str] = os.environ) -> tuple[Summary, Path]:
    """Runs one trial, writes its results and returns the summary and its folder.

    Args:
        options: The user's choices, checked.
        ports: Where everything listens.
        environ: `DATABASE_URL` and `JAEGER_BIN` are read from it.

    Raises:
        MeshError, HopsError: What went wrong, in words for the user; nothing is left running, and results of
            earlier runs are untouched.
    """
    say = Progress()
    folder = ResultsFolder(options.results, options.topology.name)
    folder.open()
    try:
        shopload = Shopload(BINARY)
        tapes = make_tapes(
            shopload,
            options.workload,
            folder.path / "tapes",
            options.profile,
            seed=options.seed,
            scale=options.switches.scale,
            closed=options.closed,
        )
        say(f"tape {tapes.load.sha256[:12]}…: {tapes.load.journeys} journeys, seed {options.seed}")
        began = datetime.now(UTC)
        system = System(
            options.topology,
            options.switches,
            ports,
            folder.final.name,
            data=Data(options.switches.scale, DATA_SEED),
            environ=environ,
        )
        where = folder.path / trial_folder(options.topology.name)
        trial = run_trial(
            system, shopload, tapes, options.profile, where, seed=options.seed, say=say, closed=options.closed
        )
        summary = _summary(options, tapes, trial)
        _write(folder, options, tapes, trial, summary, began)
    except BaseException:
        kept = folder.set_aside()
        if kept is not None:
            print(f"What the unfinished run left is in {_shown(kept)}.", file=sys.stderr)
        raise
    return summary, folder.publish()


def trial_folder(topology: str, block: int = 1) -> Path:
    """Where one trial's own files are, below the results folder."""
    return Path("trials") / f"{block}-{topology}"


def show(summary: Summary, folder: Path, topology: str, console: Console) -> None:
    """Prints a run: latencies, hop budgets, gates, where the results are and how to look further."""
    manifest = read_json(folder / "manifest.json")
    console.print(render.bench(summary, topology))
    console.print(Text(f"\nLoad:    {_load(manifest)}"))
    console.print(Text(f"Memory:  {manifest['memory_peak_mb']:,.0f} MiB at most, all components together"))
    console.print(Text(f"Tape:    {summary['tape']['sha256']}"))
    console.print(Text(f"Answers: {summary['tape']['answers_sha256']}"))
    console.print(Text(f"Results: {_shown(folder)}"))
    console.print(Text("Traces:  make trace    (opens this run's p50 and p99 exemplars in Jaeger)"))


class Progress:
    """Says what is going on, with the seconds since the start, on standard error."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, what: str) -> None:
        print(f"[{time.monotonic() - self._began:5.1f} s] {what}", file=sys.stderr, flush=True)


def _summary(options: Options, tapes: Tapes, trial: Trial) -> Summary:
    return summarise(
        options.topology.name,
        gates=evaluate(trial.evidence),
        tape={
            "sha256": tapes.load.sha256,
            "journeys": tapes.load.journeys,
            "seed": options.seed,
            "answers_sha256": trial.generator["answers_sha256"],
        },
        switches=options.switches.as_dict(),
        topologies={options.topology.name: trial.summary},
        observer_effect_ms=observer_effect_of(trial.journeys, seed=options.seed),
        closed=_closed(options),
        gates_left_out=left_out(trial.evidence),
    )


def _closed(options: Options) -> ClosedLoopSummary | None:
    loop = options.closed
    return None if loop is None else ClosedLoopSummary(vus=loop.vus, think_s=loop.think_s)


def _write(
    folder: ResultsFolder, options: Options, tapes: Tapes, trial: Trial, summary: Summary, began: datetime
) -> None:
    name = options.topology.name
    vegeta = folder.path / "vegeta"
    vegeta.mkdir()
    (folder.path / trial_folder(name) / VEGETA).rename(vegeta / f"1-{name}.gob")
    labels: dict[str, str | int] = {"block": 1, "topology": name}
    write_parquet(trial.journeys.with_columns(**_columns(labels)), folder.path / "journeys.parquet")
    write_parquet(trial.hops.with_columns(**_columns(labels)), folder.path / "hops.parquet")
    write_parquet(trial.resources.with_columns(**_columns(labels)), folder.path / "resources.parquet")
    write_summary(summary, folder.path / "summary.json")
    folder.write_json("manifest.json", _manifest(options, tapes, trial, began))


def _manifest(options: Options, tapes: Tapes, trial: Trial, began: datetime) -> dict[str, Any]:
    return {
        "schema": 1,
        "began": began.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": git_state(ROOT),
        "machine": machine(),
        "versions": versions(),
        "topology": options.topology.model_dump(mode="json"),
        "switches": options.switches.as_dict(),
        "mode": "open" if options.closed is None else "closed",
        "closed": _closed(options),
        # A closed loop has no rate: its answers give the pace.
        "profile": asdict(options.profile) | ({} if options.closed is None else {"rate": None}),
        "workload": options.workload.name,
        "seeds": {"tape": options.seed, "data": DATA_SEED, "bootstrap": options.seed},
        "tapes": {"parity": tapes.parity.sha256, "warmup": tapes.warmup.sha256, "load": tapes.load.sha256},
        "generator": dict(trial.generator),
        "phases_s": dict(trial.phases_s),
        "memory_peak_mb": round(trial.memory_mb, 1),
        "exemplars": trial.exemplars,
    }


def _load(manifest: Mapping[str, Any]) -> str:
    closed, profile = manifest["closed"], manifest["profile"]
    if closed is None:
        return f"open loop, {profile['rate']:g} journeys a second for {profile['duration_s']} s"
    return f"{ClosedLoop(closed['vus'], closed['think_s'])}, for {profile['duration_s']} s"


def _columns(labels: Mapping[str, str | int]) -> dict[str, Any]:
    return {name: pl.lit(value) for name, value in labels.items()}


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
