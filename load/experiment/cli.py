"""The command line: `python -m experiment bench|compare|…`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from experiment import exemplars
from experiment.audit import print_audit, require_marked
from experiment.bench import bench_plan, show
from experiment.capacity_command import stress_command, sweep_command
from experiment.closed_loop import parse_closed_loop
from experiment.compare_command import compare_command
from experiment.compare_runs_command import compare_runs_command
from experiment.delay_proof_command import prove_delays_command
from experiment.exemplar_view import print_exemplars
from experiment.options import (
    RESULTS,
    SUSPECT,
    Connections,
    Delay,
    Edge,
    Http,
    Json,
    Mesh,
    Mtls,
    Rate,
    Rtt,
    RunName,
    Scale,
    Think,
    Trace,
    Vus,
    Workload,
    checked_seed,
    console,
    number,
    reported_errors,
    workload_file,
)
from experiment.parity_run import check_topologies, parity_table
from experiment.profiles import PROFILES, UsageError, profile_named
from experiment.progress import Progress
from experiment.report_command import report_command
from experiment.results import find_run
from experiment.resume_proof_command import prove_resume_command
from experiment.runner import BINARY, begin, run_plan, trial_name
from experiment.shopload import Shopload
from experiment.trial import EXEMPLARS, JOURNEYS, parity_tape
from hops.figures import TrialRecord
from hops.run_files import TRIALS, read_document, trial_folder
from mesh.paths import RunFolder
from mesh.ports import load_ports
from mesh.running_state import read_state
from mesh.shop_processes import TRIAL_DATABASE
from mesh.switches import parse_switches
from mesh.system import open_database
from mesh.topology import load_topology, names
from mesh.trace_store import open_trace_store

app = typer.Typer(
    help="Measures topologies of the shop under identical load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
WATCH_S = 0.5

app.command("compare")(compare_command)
app.command("compare-runs")(compare_runs_command)
app.command("sweep")(sweep_command)
app.command("stress")(stress_command)
app.command("report")(report_command)
app.command("prove-delays")(prove_delays_command)
app.command("prove-resume")(prove_resume_command)


@app.command("bench")
def bench_command(
    topology: Annotated[str, typer.Option(help="A name, or the path of a YAML file.")] = "hybrid",
    profile: Annotated[str, typer.Option(help=f"How long: {', '.join(PROFILES)}.")] = "quick",
    rate: Rate = None,
    seed: Annotated[str, typer.Option(help="Of the tape: a whole number from 0.")] = "1",
    workload: Workload = "default",
    trace: Trace = None,
    scale: Scale = None,
    edge: Edge = None,
    mesh: Mesh = None,
    mtls: Mtls = None,
    http: Http = None,
    rtt: Rtt = None,
    connections: Connections = None,
    delay: Delay = None,
    vus: Vus = None,
    think: Think = None,
    as_json: Json = False,
) -> None:
    """Measure one topology: latency, hop budget, gates. Exit code 3 if the figures are SUSPECT."""
    with reported_errors():
        plan = bench_plan(
            load_topology(topology),
            parse_switches(
                edge=edge,
                mesh=mesh,
                mtls=mtls,
                trace=trace,
                scale=scale,
                http=http,
                rtt=rtt,
                connections=connections,
                delay=delay,
            ),
            profile_named(profile, rate=number("rate", rate)),
            seed=checked_seed(seed),
            workload=workload_file(workload),
            closed=parse_closed_loop(vus=vus, think=think, rate=rate),
        )
        summary, folder = run_plan(plan, begin(plan, RESULTS), load_ports(os.environ))
        if as_json:
            typer.echo((folder / "summary.json").read_text(encoding="utf-8"), nl=False)
        else:
            show(summary, folder, plan.name, console())
        if not summary["valid"]:
            raise SystemExit(SUSPECT)


@app.command("parity")
def parity_command(
    topologies: Annotated[str, typer.Option(help="Names or paths, with commas between them; all by default.")] = "",
    samples: Annotated[int, typer.Option(help="Of each journey and channel.", min=1, max=1000)] = 50,
    seed: Annotated[str, typer.Option(help="Of the sample: a whole number from 0.")] = "1",
    http: Http = None,
    as_json: Json = False,
) -> None:
    """Compare every topology's answers with the data, and the effects of its writes with the others'."""
    with reported_errors():
        chosen = [load_topology(name) for name in (topologies.split(",") if topologies else names())]
        shopload = Shopload(BINARY)
        switches = parse_switches(http=http, trace=0)
        done = check_topologies(
            chosen,
            switches,
            load_ports(os.environ),
            shopload,
            lambda out: parity_tape(shopload, out, samples, seed=checked_seed(seed), scale=switches.scale),
            say=Progress(),
        )
        if as_json:
            typer.echo(json.dumps([asdict(one) for one in done]))
        else:
            console().print(parity_table(done))


@app.command("trace")
def trace_command(
    run: RunName = "latest",
    journey: Annotated[str, typer.Option(help="Show this journey's exemplars as trees; else list all.")] = "",
    topology: Annotated[str, typer.Option(help="Of a compare: whose exemplars; else the first one's.")] = "",
    wait: Annotated[bool, typer.Option(help="Keep Jaeger running until Ctrl-C.")] = True,
) -> None:
    """Show the traces that stand for a run's p50 and p99, in Jaeger and here."""
    with reported_errors():
        folder = find_run(RESULTS, run)
        trial = _trial_of(read_document(folder / TRIALS)["trials"], topology)
        chosen, saved = trial["exemplars"], folder / trial_folder(trial["topology"], trial["block"]) / EXEMPLARS
        if journey and journey not in chosen:
            raise UsageError(f"journey={journey} has no exemplar in this run; there are: {', '.join(sorted(chosen))}")
        ports = load_ports(os.environ)
        with open_trace_store(ports) as started:
            exemplars.load(saved, ports.url("jaeger-otlp-http"))
            print_exemplars(saved, chosen, ports.url("jaeger-query-http"), console(), journey=journey)
            if started and wait:
                print("Jaeger runs until Ctrl-C.", file=sys.stderr)
                while True:
                    time.sleep(WATCH_S)


@app.command("audit")
def audit_command(
    run: Annotated[str, typer.Option(help="As for trace; what `make up` runs, if it does, else latest.")] = "",
    as_json: Json = False,
) -> None:
    """Check the shop's invariants on what `make up` runs or a run's last trial left. Exit code 1 if one is broken."""
    with reported_errors():
        ports = load_ports(os.environ)
        state = None if run else read_state(RunFolder.of(ports.base))
        trial, journeys = (None, None) if state else _left_by(run or "latest")
        with open_database(ports) as database:
            if trial is not None:
                require_marked(database.admin_url, TRIAL_DATABASE, trial)
            what = (
                f"what the last trial of a run left: {trial}"
                if state is None
                else f"what `make up` runs: {state.topology}"
            )
            print(f"Auditing {what}", file=sys.stderr, flush=True)
            holds = print_audit(database.admin_url, TRIAL_DATABASE, journeys, as_json=as_json)
        if not holds:
            raise SystemExit(1)


def _left_by(run: str) -> tuple[str, Path]:
    """The name of a run's last trial, and the journeys that it replayed."""
    folder = find_run(RESULTS, run)
    last = max(read_document(folder / TRIALS)["trials"], key=lambda trial: trial["ended"])
    of_trial = trial_folder(last["topology"], last["block"])
    return trial_name(folder.name, of_trial.name), folder / of_trial / JOURNEYS


def _trial_of(trials: Sequence[TrialRecord], topology: str) -> TrialRecord:
    used = [trial for trial in trials if trial["used"]]
    for trial in used:
        if topology in ("", trial["topology"]):
            return trial
    there = ", ".join(dict.fromkeys(trial["topology"] for trial in used))
    raise UsageError(f"topology={topology} is not in this run; there are: {there}")
