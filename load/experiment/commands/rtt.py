"""`make rtt`: topologies at several distances from their customers, and the model of distance held against that."""

from __future__ import annotations

from typing import Annotated

import typer

from experiment.arguments import checked_seed, number, topologies_of, whole_number, workload_file
from experiment.commands import in_blocks, options
from experiment.plan.plan import MOST_BLOCKS, Plan
from experiment.plan.profiles import profile_named
from experiment.plan.rtt import DEFAULT_RTTS, rtt_arms
from experiment.results.folder import RESULTS
from experiment.runner import begin, take_up
from hops.kinds.rtt.arms import KIND
from hops.kinds.rtt.terminal import rtt_view
from mesh.description.options import Bandwidth, Edge, Http, Json, Trace

Rtts = Annotated[
    str, typer.Option(help="Round-trip times between customer and edge, comma-separated: 0,20,50,100 (ms), or 0ms,1s.")
]


def rtt_command(
    given: typer.Context,
    topologies: options.Topologies = options.COMPARED,
    rtts: Rtts = DEFAULT_RTTS,
    blocks: in_blocks.Blocks = "5",
    profile: in_blocks.Profile = "rtt",
    rate: options.Rate = None,
    seed: options.Seed = "1",
    workload: options.Workload = "default",
    trace: Trace = None,
    edge: Edge = None,
    http: Http = None,
    bandwidth: Bandwidth = None,
    resume: in_blocks.Resume = "",
    retry: in_blocks.Retry = "0",
    as_json: Json = False,
) -> None:
    """The command `rtt`; `experiment.cli` has its help."""
    with options.reported_errors():
        repeats = whole_number("retry", retry, 0, in_blocks.MOST_RETRIES)
        if resume:
            in_blocks.refuse_beside_resume(given)
            folder, plan = take_up(RESULTS, resume, KIND)
        else:
            switches = {"edge": edge, "http": http, "bandwidth": bandwidth, "trace": trace}
            plan = Plan(
                kind=KIND,
                name=KIND,
                arms=rtt_arms(topologies_of(topologies), rtts, switches),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                profile=profile_named(profile, rate=number("rate", rate)),
                seed=checked_seed(seed),
                workload=workload_file(workload),
            )
            folder = begin(plan, RESULTS)
        in_blocks.carry_out(plan, folder, rtt_view, retry=repeats, as_json=as_json)
