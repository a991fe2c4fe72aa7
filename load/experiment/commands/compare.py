"""`make compare`: several topologies under one load, in blocks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from experiment.arguments import checked_seed, number, topologies_of, whole_number, workload_file
from experiment.commands import options
from experiment.errors import UsageError
from experiment.plan.closed_loop import parse_closed_loop
from experiment.plan.plan import MOST_BLOCKS, Plan, arms_of
from experiment.plan.profiles import PROFILES, profile_named
from experiment.progress import minutes
from experiment.results.folder import RESULTS
from experiment.runner import begin, expected_s, load_line, run_plan, take_up
from hops.run.documents import Summary
from hops.run.files import MANIFEST, SUMMARY, read_document
from hops.statistics.over_blocks import LEAST_BLOCKS
from hops.terminal.comparison import compare as compare_view
from mesh.options import Connections, Delay, Edge, Http, Json, Mesh, Mtls, Rtt, Scale, Store, Trace
from mesh.ports import load_ports
from mesh.switches import parse_switches

MOST_RETRIES = 5
#: What may stand beside `resume`: everything else is as the experiment began.
BESIDE_RESUME = ("resume", "retry", "as_json")


def compare_command(
    given: typer.Context,
    topologies: options.Topologies = options.COMPARED,
    blocks: Annotated[
        str, typer.Option(help=f"Number of blocks, 1 to {MOST_BLOCKS}; each runs every topology once.")
    ] = "5",
    profile: Annotated[
        str, typer.Option(help=f"Profile that sets a trial's duration and rate: {', '.join(PROFILES)}.")
    ] = "compare",
    rate: options.Rate = None,
    seed: options.Seed = "1",
    workload: options.Workload = "default",
    trace: Trace = None,
    scale: Scale = None,
    edge: Edge = None,
    mesh: Mesh = None,
    mtls: Mtls = None,
    store: Store = None,
    http: Http = None,
    rtt: Rtt = None,
    connections: Connections = None,
    delay: Delay = None,
    vus: options.Vus = None,
    think: options.Think = None,
    resume: Annotated[str, typer.Option(help="Interrupted experiment to resume: latest, or its name.")] = "",
    retry: Annotated[str, typer.Option(help=f"Times to repeat a SUSPECT trial, 0 to {MOST_RETRIES}.")] = "0",
    as_json: Json = False,
) -> None:
    """The command `compare`; `experiment.cli` has its help."""
    with options.reported_errors():
        repeats = whole_number("retry", retry, 0, MOST_RETRIES)
        if resume:
            _refuse_beside_resume(given)
            folder, plan = take_up(RESULTS, resume, "compare")
        else:
            switches = parse_switches(
                edge=edge,
                mesh=mesh,
                mtls=mtls,
                store=store,
                trace=trace,
                scale=scale,
                http=http,
                rtt=rtt,
                connections=connections,
                delay=delay,
            )
            plan = Plan(
                kind="compare",
                name="compare",
                arms=arms_of(topologies_of(topologies), switches),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                profile=profile_named(profile, rate=number("rate", rate)),
                seed=checked_seed(seed),
                workload=workload_file(workload),
                closed=parse_closed_loop(vus=vus, think=think, rate=rate),
            )
            folder = begin(plan, RESULTS)
        _announce(plan)
        summary, path = run_plan(plan, folder, load_ports(os.environ), retry=repeats)
        if as_json:
            options.print_file(path / SUMMARY)
        else:
            _show(summary, path)
        options.end(valid=summary["valid"])


def _show(summary: Summary, folder: Path) -> None:
    out = options.console()
    out.print(compare_view(summary))
    out.print(f"Load:    {load_line(read_document(folder / MANIFEST))}, {summary['blocks']} blocks")
    options.print_places(out, folder)


def _announce(plan: Plan) -> None:
    names = ", ".join(arm.label for arm in plan.arms)
    typer.echo(
        f"{names}: {plan.blocks} blocks of {len(plan.arms)} trials in random order, {minutes(expected_s(plan))}. "
        "Leave the machine idle until then; Ctrl-C keeps finished trials.",
        err=True,
    )
    if plan.blocks < LEAST_BLOCKS:
        typer.echo(
            f"Fewer than {LEAST_BLOCKS} blocks give figures but no intervals over blocks, no verdicts. Give blocks=5.",
            err=True,
        )


def _refuse_beside_resume(given: typer.Context) -> None:
    sources = {name: given.get_parameter_source(name) for name in given.params if name not in BESIDE_RESUME}
    others = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if others:
        raise UsageError(f"resume= keeps the experiment's original settings; leave out {', '.join(others)}")
