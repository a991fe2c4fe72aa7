"""`make topology=hybrid bench`: one trial of one topology, with its figures and a verdict."""

from __future__ import annotations

import os
from pathlib import Path

from experiment.arguments import checked_seed
from experiment.commands import options
from experiment.commands.preflight import Preflight
from experiment.plan.arms_in_blocks import Plan, arms_of
from experiment.plan.closed_loop import parse_closed_loop
from experiment.plan.networks import channel_networks
from experiment.plan.profiles import profile_named
from experiment.plan.workload import workload_file
from experiment.results.folder import RESULTS
from hops.run.documents.summary import Summary
from mesh.description.options import Given, Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology


@takes_settings("bench")
def command(
    *,
    topology: str,
    profile: str,
    rate: str | None,
    seed: str,
    workload: str,
    switches: Given,
    vus: str | None,
    think: str | None,
    strict: str | None,
    verbose: str,
    as_json: Json = False,
) -> None:
    with options.reported_errors():
        is_verbose = options.is_on("verbose", verbose)
        look, is_strict, file = Preflight(), options.is_strict(strict), workload_file(workload)
        chosen = parse_switches(channel_networks(file), **switches)
        measured = load_topology(topology, updates=chosen.updates)
        plan = Plan(
            kind="bench",
            name=measured.name,
            arms=arms_of([measured], chosen),
            blocks=1,
            profile=profile_named(profile, rate=rate),
            seed=checked_seed(seed),
            workload=file,
            closed=parse_closed_loop(vus=vus, think=think, rate=rate),
        )
        # These imports take a second, so wrong options are reported before them.
        from experiment.blocks import expected_s
        from experiment.progress import minutes
        from experiment.runner import begin, run_plan

        look.end([f"One trial of {measured.name}, {minutes(expected_s(plan))}. Leave the machine idle until then."])
        ports = load_ports(os.environ)
        summary, folder = run_plan(plan, begin(plan, RESULTS), ports, brief=not is_verbose)
        if as_json:
            from hops.run.files import SUMMARY

            options.print_file(folder / SUMMARY)
        elif is_verbose:
            _show(summary, folder)
        else:
            _show_brief(summary, folder)
        from hops.conclusions.notes import verdict_sentence

        options.end(summary["verdict"], strict=is_strict, why=verdict_sentence(summary) if is_verbose else "")


def _show_brief(summary: Summary, folder: Path) -> None:
    from hops.terminal.brief import brief

    out = options.console()
    out.print(brief(summary))
    options.print_links(out, folder)
    out.print("Traces:  make trace    (verbose=on prints all tables of the report)")


def _show(summary: Summary, folder: Path) -> None:
    from experiment.runner import load_line
    from hops.kinds import show_run
    from hops.run.files import MANIFEST, read_document

    manifest, out = read_document(folder / MANIFEST), options.console()
    out.print(show_run(summary))
    options.print_seconds(out, folder)
    out.print(f"Load:    {load_line(manifest)}")
    out.print(f"Memory:  {manifest['memory_peak_mb']:,.0f} MiB at most, all components together")
    out.print(f"Tape:    {summary['tape']['sha256']}")
    out.print(f"Answers: {summary['tape']['answers_sha256']}")
    options.print_places(out, folder)
    out.print("Traces:  make trace    (opens this run's p50 and p99 exemplars in Jaeger)")
