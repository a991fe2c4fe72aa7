"""What the commands share that run several arms in blocks: options, what they say beforehand, and how they resume."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import typer

from experiment.arguments import whole_number
from experiment.blocks import expected_s
from experiment.commands import options
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MOST_BLOCKS, Plan
from experiment.plan.precision import Foreseen, foresee, percent
from experiment.plan.profiles import PROFILES
from experiment.progress import minutes
from experiment.results.folder import RESULTS, ResultsFolder
from experiment.resume import take_up
from experiment.runner import begin, load_line, run_plan
from hops.conclusions.wording import plural
from hops.kinds import shown
from hops.run.documents.summary import Summary
from hops.run.files import MANIFEST, SUMMARY, read_document
from hops.statistics.over_blocks import LEAST_BLOCKS
from mesh.description.ports import load_ports

MOST_RETRIES = 5
#: Exit code of a run that ended well, without the precision that it was asked for.
TOO_WIDE = 4
#: What may stand beside `resume`: everything else is as the experiment began.
_BESIDE_RESUME = ("resume", "retry", "as_json")

Blocks = Annotated[str, typer.Option(help=f"Number of blocks, 1 to {MOST_BLOCKS}; each runs every arm once.")]
Precision = Annotated[
    str | None,
    typer.Option(
        help="Run as many blocks as it takes until the 95 % interval of the ratio of any two topologies' p50, over all "
        "journeys, reaches no farther than this from the ratio, such as 5%; the first `blocks` decide how many. Exit "
        "code 4 if that is more than can be run."
    ),
]
Profile = Annotated[str, typer.Option(help=f"Profile that sets a trial's duration and rate: {', '.join(PROFILES)}.")]
Resume = Annotated[str, typer.Option(help="Interrupted experiment to resume: latest, or its name.")]
Retry = Annotated[str, typer.Option(help=f"Times to repeat a SUSPECT trial, 0 to {MOST_RETRIES}.")]


def run(
    given: typer.Context,
    kind: str,
    plan_of: Callable[[], Plan],
    *,
    resume: str,
    retry: str,
    as_json: bool,
) -> None:
    """Begins an experiment or resumes one, shows what it found, and ends the program.

    Args:
        given: What the user gave.
        kind: Kind of the experiment.
        plan_of: Makes the plan of a new one.
        resume: Experiment to resume; empty for a new one.
        retry: Times to repeat a SUSPECT trial.
        as_json: Whether the summary is printed as it is, instead.
    """
    with options.reported_errors():
        repeats = whole_number("retry", retry, 0, MOST_RETRIES)
        if resume:
            refuse_beside_resume(given)
            folder, plan = take_up(RESULTS, resume, kind)
        else:
            plan = plan_of()
            folder = begin(plan, RESULTS)
        _carry_out(plan, folder, retry=repeats, as_json=as_json)


def _carry_out(plan: Plan, folder: ResultsFolder, *, retry: int, as_json: bool) -> None:
    _announce(plan)
    summary, path = run_plan(plan, folder, load_ports(os.environ), retry=retry)
    if as_json:
        options.print_file(path / SUMMARY)
    else:
        out = options.console()
        out.print(shown(summary))
        options.print_seconds(out, path)
        out.print(f"Load:    {load_line(read_document(path / MANIFEST))}, {plural(summary['blocks'], 'block')}")
        options.print_places(out, path)
    options.end(valid=summary["valid"])
    if too_wide(summary):
        raise SystemExit(TOO_WIDE)


def too_wide(summary: Summary) -> bool:
    """Whether a precision was asked for and not reached."""
    return "precision" in summary and not summary["precision"]["met"]


def refuse_beside_resume(given: typer.Context) -> None:
    """Checks that nothing was given which a resumed experiment would ignore.

    Raises:
        UsageError: Something was; names it.
    """
    sources = {name: given.get_parameter_source(name) for name in given.params if name not in _BESIDE_RESUME}
    others = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if others:
        raise UsageError(f"resume= keeps the experiment's original settings; leave out {', '.join(others)}")


def foreseen(plan: Plan) -> Foreseen:
    """What a plan with a precision is likely to take."""
    return foresee(plan, RESULTS, expected_s(plan) / plan.blocks)


def _announce(plan: Plan) -> None:
    names = ", ".join(arm.label for arm in plan.arms)
    of_first_stage = "" if plan.precision is None else " in a first stage"
    typer.echo(
        f"{names}: {plural(plan.blocks, 'block')} of {len(plan.arms)} trials in random order{of_first_stage}, "
        f"{minutes(expected_s(plan))}. {_in_all(plan)}"
        "Leave the machine idle until then; Ctrl-C keeps finished trials.",
        err=True,
    )
    if plan.staying_on_http2:
        typer.echo(
            f"Clients of {' and '.join(plan.staying_on_http2)} speak gRPC, which has no HTTP/3: they stay on HTTP/2, "
            "with TLS as the others. The report says which arm speaks what.",
            err=True,
        )
    if plan.blocks < LEAST_BLOCKS:
        typer.echo(
            f"Fewer than {LEAST_BLOCKS} blocks give figures but no intervals over blocks, no verdicts. "
            "Give blocks=5 or more.",
            err=True,
        )


def _in_all(plan: Plan) -> str:
    """What the first stage is likely to decide; nothing if the number of blocks is fixed."""
    if plan.precision is None:
        return ""
    likely = foreseen(plan)
    return (
        f"It decides how many blocks precision={percent(plan.precision, '')} takes: about {likely.blocks} in all, "
        f"{minutes(likely.seconds)}, {likely.cause}. "
    )
