"""`make ladder topology=hybrid`: what each thing in front of, around and inside a topology adds, measured twice."""

from __future__ import annotations

import typer

from experiment.arguments import checked_seed, number, whole_number, workload_file
from experiment.commands import in_blocks, options
from experiment.plan.ladder import ladder_arms
from experiment.plan.networks import refuse_networks
from experiment.plan.plan import MOST_BLOCKS, Plan
from experiment.plan.profiles import profile_named
from experiment.results.folder import RESULTS
from experiment.runner import begin, take_up
from hops.kinds.ladder.arms import KIND
from hops.kinds.ladder.terminal import ladder_view
from mesh.description.options import Http, Json, TopologyName, Trace
from mesh.description.topology import load_topology


def ladder_command(
    given: typer.Context,
    topology: TopologyName = "hybrid",
    steps: options.Steps = "",
    blocks: in_blocks.Blocks = "8",
    profile: in_blocks.Profile = "compare",
    rate: options.Rate = None,
    seed: options.Seed = "1",
    workload: options.Workload = "default",
    trace: Trace = None,
    http: Http = None,
    resume: in_blocks.Resume = "",
    retry: in_blocks.Retry = "0",
    as_json: Json = False,
) -> None:
    """The command `ladder`; `experiment.cli` has its help."""
    with options.reported_errors():
        repeats = whole_number("retry", retry, 0, in_blocks.MOST_RETRIES)
        if resume:
            in_blocks.refuse_beside_resume(given)
            folder, plan = take_up(RESULTS, resume, KIND)
        else:
            climbed, file = load_topology(topology), workload_file(workload)
            refuse_networks(file, KIND)
            plan = Plan(
                kind=KIND,
                name=f"{KIND}-{climbed.name}",
                arms=ladder_arms(climbed, steps, http=http, trace=trace),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                profile=profile_named(profile, rate=number("rate", rate)),
                seed=checked_seed(seed),
                workload=file,
            )
            folder = begin(plan, RESULTS)
        in_blocks.carry_out(plan, folder, ladder_view, retry=repeats, as_json=as_json)
