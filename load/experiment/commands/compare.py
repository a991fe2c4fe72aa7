"""`make compare`: several topologies under one load, in blocks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated

import typer

from experiment.arguments import checked_seed, number, whole_number, workload_file
from experiment.commands.options import (
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
    Scale,
    Think,
    Trace,
    Vus,
    console,
    reported_errors,
)
from experiment.errors import UsageError
from experiment.plan.closed_loop import parse_closed_loop
from experiment.plan.plan import MOST_BLOCKS, Plan, arms_of
from experiment.plan.profiles import PROFILES, profile_named
from experiment.progress import minutes, shown
from experiment.results.folder import RESULTS
from experiment.runner import begin, expected_s, load_line, run_plan, take_up
from hops.run.documents import Summary
from hops.run.files import MANIFEST, SUMMARY, read_document
from hops.statistics.over_blocks import LEAST_BLOCKS
from hops.terminal.comparison import compare as compare_view
from mesh.ports import load_ports
from mesh.switches import parse_switches
from mesh.topology import load_topology

TOPOLOGIES = "rest,graphql,grpc,hybrid"
PROFILE = "compare"
BLOCKS = "5"
MOST_RETRIES = 5


def compare_command(
    topologies: Annotated[
        str | None, typer.Option(help=f"Names or paths, with commas between them; {TOPOLOGIES} by default.")
    ] = None,
    blocks: Annotated[str | None, typer.Option(help=f"How often each runs; {BLOCKS} by default.")] = None,
    profile: Annotated[
        str | None, typer.Option(help=f"How long a trial is: {', '.join(PROFILES)}; {PROFILE} by default.")
    ] = None,
    rate: Rate = None,
    seed: Annotated[str | None, typer.Option(help="Of the tape and the order; 1 by default.")] = None,
    workload: Annotated[str | None, typer.Option(help="A name in load/workloads/, or a path.")] = None,
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
    resume: Annotated[str | None, typer.Option(help="Go on with an interrupted one: latest, or its name.")] = None,
    retry: Annotated[str, typer.Option(help=f"Repeat a SUSPECT trial so often, 0 to {MOST_RETRIES}.")] = "0",
    as_json: Json = False,
) -> None:
    """Compare topologies under one load, in random blocks. Exit code 3 if the figures are SUSPECT."""
    with reported_errors():
        switches = {
            "edge": edge,
            "mesh": mesh,
            "mtls": mtls,
            "trace": trace,
            "scale": scale,
            "http": http,
            "rtt": rtt,
            "connections": connections,
            "delay": delay,
        }
        others = {"topologies": topologies, "blocks": blocks, "profile": profile, "rate": rate, "seed": seed}
        others |= {"workload": workload, "vus": vus, "think": think, **switches}
        repeats = whole_number("retry", retry, 0, MOST_RETRIES)
        if resume:
            _refuse_beside_resume(others)
            folder, plan = take_up(RESULTS, resume, "compare")
        else:
            plan = Plan(
                kind="compare",
                name="compare",
                arms=arms_of(
                    [load_topology(name.strip()) for name in (topologies or TOPOLOGIES).split(",")],
                    parse_switches(**switches),
                ),
                blocks=whole_number("blocks", blocks or BLOCKS, 1, MOST_BLOCKS),
                profile=profile_named(profile or PROFILE, rate=number("rate", rate)),
                seed=checked_seed(seed or "1"),
                workload=workload_file(workload or "default"),
                closed=parse_closed_loop(vus=vus, think=think, rate=rate),
            )
            folder = begin(plan, RESULTS)
        _announce(plan)
        summary, path = run_plan(plan, folder, load_ports(os.environ), retry=repeats)
        if as_json:
            typer.echo((path / SUMMARY).read_text(encoding="utf-8"), nl=False)
        else:
            out = console()
            out.print(compare_view(summary))
            out.print(f"Load:    {load_line(read_document(path / MANIFEST))}, {summary['blocks']} blocks")
            out.print(f"Results: {shown(path)}")
            out.print(f"Report:  {shown(path / 'report.html')}")
        _end(summary)


def _announce(plan: Plan) -> None:
    names = ", ".join(arm.label for arm in plan.arms)
    typer.echo(
        f"{names}: {plan.blocks} blocks of {len(plan.arms)} trials in random order, {minutes(expected_s(plan))}. "
        "Leave the machine alone meanwhile; Ctrl-C keeps what is finished.",
        err=True,
    )
    if plan.blocks < LEAST_BLOCKS:
        typer.echo(
            f"Fewer than {LEAST_BLOCKS} blocks give figures but no intervals over blocks, no verdicts. Give blocks=5.",
            err=True,
        )


def _end(summary: Summary) -> None:
    if not summary["valid"]:
        raise SystemExit(SUSPECT)


def _refuse_beside_resume(others: Mapping[str, str | None]) -> None:
    given = [name for name, value in others.items() if value]
    if given:
        raise UsageError(
            f"resume= goes on with the settings that the experiment began with; leave out {', '.join(given)}"
        )
