"""Code shared by the commands that run arms in blocks: their options, what they announce, and how they resume."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from experiment.arguments import checked_seed, topologies_of, whole_number
from experiment.blocks import THE_SHOP, Makers, expected_s
from experiment.commands import options
from experiment.commands.own_targets import begin_targets, run_targets
from experiment.commands.preflight import Preflight
from experiment.errors import UsageError
from experiment.noise_warning import LONG
from experiment.own_target.file import TargetFile
from experiment.own_target.measured import (
    OF_THE_SHOP,
    as_topologies,
    describe,
    read_targets,
    refuse_of_the_shop,
    switches_given,
)
from experiment.plan.arms_in_blocks import MAX_ARMS, MAX_BLOCKS, SENT, Arm, Plan
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.precision import Foreseen, foresee, parse_precision, percent, visible_sentence
from experiment.plan.profiles import profile_named
from experiment.plan.resume import take_up
from experiment.plan.workload import mix_of, workload_file
from experiment.progress import minutes, short_path
from experiment.results.folder import RESULTS
from experiment.runner import begin, load_line, run_plan
from hops.conclusions.wording import plural
from hops.kinds import show_run
from hops.run.documents.summary import Summary
from hops.run.switches import is_of_the_shop
from mesh.description.options import Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.switches import SWITCHES
from mesh.description.topology import Topology

MAX_RETRIES = 5
TOO_WIDE = 4
"""Exit code of a finished run that missed its precision or exceeded its threshold."""
_WITH_RESUME = ("resume", "results", "retry", "strict", "verbose", "as_json")
"""Options that `resume` allows; all others keep the experiment's original values."""


@dataclass(frozen=True)
class Common:
    """The user's values for options that all commands for arms in blocks have, and for some that only a few have."""

    seed: str
    target: str = ""
    targets: str = ""
    target_is_mine: str = ""
    results: str = ""
    workload: str = "default"
    profile: str = "smoke"
    blocks: str = "1"
    rate: str | None = None
    precision: str | None = None

    @cached_property
    def own(self) -> TargetFile | None:
        """The target file of the targets, or None for the shop; raises UsageError if it is invalid or missing."""
        if self.target:
            return read_targets(self.target, self.targets)
        for name in ("targets", "target_is_mine"):
            if value := getattr(self, name):
                raise UsageError(f"{name.replace('_', '-')}={value} needs target=FILE")
        return None

    @property
    def folder(self) -> Path:
        """The folder of all results."""
        return Path(self.results) if self.results else RESULTS

    @property
    def file(self) -> Path:
        """File of the journeys: a workload file, which must exist, or a target file."""
        return self.own.path if self.own else workload_file(self.workload)

    @property
    def mix(self) -> Mapping[tuple[str, str], float]:
        """The weight of each journey and channel."""
        if self.own is None:
            return mix_of(self.file)
        return {(name, str(one.channel)): one.weight for name, one in self.own.target.journeys.items()}

    def read_measured(self, topologies: str, *, updates: str = "off") -> list[Topology]:
        """Reads the file's targets, or topologies; raises an error if one is unknown, invalid or named twice."""
        return as_topologies(self.own) if self.own else topologies_of(topologies, updates=updates)

    def plan(
        self, kind: str, arms: tuple[Arm, ...], closed: ClosedLoop | None = None, topology: Topology | None = None
    ) -> Plan:
        """Makes a plan, named after the topology if all arms run the same; raises UsageError for an invalid option."""
        about, of = {}, "" if topology is None else f"-{topology.name}"
        if self.own is not None:
            mine = sorted(filter(None, (host.strip() for host in self.target_is_mine.split(","))))
            about = describe(self.own, mine, traced=any(arm.switches.trace for arm in arms))
            of = f"-{self.own.target.name}"
        return Plan(
            kind=kind,
            name=f"{kind}{of}",
            arms=arms,
            blocks=whole_number("blocks", self.blocks, 1, MAX_BLOCKS),
            profile=profile_named(self.profile, rate=self.rate),
            seed=checked_seed(self.seed),
            workload=self.file,
            closed=closed,
            precision=parse_precision(self.precision),
            about=about,
        )


@dataclass(frozen=True, slots=True)
class Running:
    """The user's values for the options that control how an experiment runs and ends."""

    resume: str = ""
    retry: str = "0"
    strict: str | None = None
    verbose: str = "on"


Details = Callable[[Summary, Mapping[str, Any]], Iterator[str]]
"""Yields lines about a run, from its summary and its manifest."""


def experiment(
    kind: str,
    *,
    makers: Makers = THE_SHOP,
    announce: Callable[[Plan], Iterator[str]] | None = None,
    details: Details | None = None,
) -> Callable[[Callable[..., Plan]], Callable[..., None]]:
    """Makes the command of a kind of experiment from the function that makes its plan.

    The settings in the kind's row of the table of commands become the function's parameters; `common` holds settings
    that most kinds have. The command begins or resumes an experiment, shows the results, and ends the program. A kind
    with the setting `verbose` shows only the main figures, unless the setting is on.

    Args:
        makers: Factories for what the trials need, and `choose` if the kind chooses its arms during a run.
        announce: Says beforehand what will run; `announcement` by default.
        details: Yields the lines to print before the places of the results, unless only the main figures are shown.
    """
    announce = announce or announcement

    def decorate(plan_of: Callable[..., Plan]) -> Callable[..., None]:
        @takes_settings(kind, plan=plan_of)
        def command(*, given: typer.Context, running: Running, as_json: Json = False, **chosen: Any) -> None:
            with options.reported_errors():
                repeats = whole_number("retry", running.retry, 0, MAX_RETRIES)
                is_strict, ports = options.is_strict(running.strict), load_ports(os.environ)
                look, in_brief = Preflight(), not options.is_on("verbose", running.verbose)
                common = chosen.get("common")
                results = RESULTS if common is None else common.folder
                if running.resume:
                    refuse_beside_resume(given)
                    look.end()
                    folder, plan = take_up(results, running.resume, kind)
                    for text in announce(plan):
                        typer.echo(text, err=True)
                else:
                    if common is not None and common.target and common.own is not None:
                        refuse_of_the_shop(_of_the_shop(given))
                        if "switches" in chosen:
                            chosen["switches"] = switches_given(common.own, chosen["switches"])
                    plan = plan_of(**chosen)
                    look.end([*announce(plan), *foresee_run(plan, results)])
                    folder = begin(plan, results) if is_of_the_shop(plan.about) else begin_targets(plan, results)
                run = run_plan if is_of_the_shop(plan.about) else run_targets
                summary, path = run(plan, folder, ports, retry=repeats, brief=in_brief, makers=makers)
                show(summary, path, strict=is_strict, as_json=as_json, brief=in_brief, details=details)

        return command

    return decorate


def show(
    summary: Summary, path: Path, *, strict: bool, as_json: bool, brief: bool = False, details: Details | None = None
) -> None:
    """Shows a run's results, or its summary as JSON, and ends the program with an exit code."""
    # Modules that read rows take a moment to import, so wrong options are reported before.
    from hops.conclusions.notes import verdict_sentence
    from hops.run.files import MANIFEST, SUMMARY, read_document

    if as_json:
        options.print_file(path / SUMMARY)
    elif brief:
        out = options.console()
        out.print(show_run(summary, brief=True))
        options.print_links(out, path)
        # Without run=, `make decide` and `make trace` read the newest run of the default folder.
        run = "" if path.parent.resolve() == RESULTS.resolve() else f" run={shlex.quote(short_path(path))}"
        following = f"Decide:  make decide{run}   " if summary["comparisons"] else f"Traces:  make trace{run}    "
        following = following if is_of_the_shop(read_document(path / MANIFEST)) else ""
        out.print(f"{following}(verbose=on prints all tables of the report)", soft_wrap=True)
    else:
        out = options.console()
        out.print(show_run(summary))
        options.print_seconds(out, path)
        manifest = read_document(path / MANIFEST)
        out.print(f"Load:    {load_line(manifest)}, {plural(summary['blocks'], 'block')}")
        for line in details(summary, manifest) if details else ():
            out.print(line)
        options.print_places(out, path)
    options.end(summary["verdict"], strict=strict, why="" if brief else verdict_sentence(summary))
    if too_wide(summary) or summary.get("beyond_threshold"):
        raise SystemExit(TOO_WIDE)
    if summary.get("beyond_threshold", False) is None:
        typer.echo("error: the threshold cannot be checked: no figure has an interval.", err=True)
        raise SystemExit(options.UNCHECKED)


def too_wide(summary: Summary) -> bool:
    """Returns whether a run missed the precision for which the user asked."""
    return "precision" in summary and not summary["precision"]["met"]


def refuse_beside_resume(given: typer.Context) -> None:
    """Raises UsageError, which names them, if options were given that a resumed experiment would ignore."""
    if others := [name for name in given.params if name not in _WITH_RESUME and _is_given(given, name)]:
        raise UsageError(f"resume= keeps the experiment's original settings; leave out {', '.join(others)}")


def _of_the_shop(given: typer.Context) -> dict[str, str]:
    """Returns the options that the user gave although they exist only for the shop."""
    names = {*OF_THE_SHOP, *SWITCHES} - {*SENT}
    return {name: given.params[name] for name in given.params if name in names and _is_given(given, name)}


def _is_given(given: typer.Context, name: str) -> bool:
    source = given.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def foreseen(plan: Plan) -> Foreseen:
    """Estimates how many blocks a plan with a precision needs, and how long they take."""
    return foresee(plan, RESULTS, expected_s(plan) / plan.blocks)


def announcement(plan: Plan) -> Iterator[str]:
    """Says which trials will run, and how long they take."""
    from hops.statistics.over_blocks import MIN_BLOCKS

    few = len(plan.arms) <= MAX_ARMS
    names = ", ".join(arm.label for arm in plan.arms) if few else f"{len(plan.arms)} arms"
    of_first_stage = "" if plan.precision is None else " in a first stage"
    yield (
        f"{names}: {plural(plan.blocks, 'block')} of {plural(len(plan.arms), 'trial')} in random order"
        f"{of_first_stage}, {minutes(expected_s(plan))}. {_in_all(plan)}"
        "Leave the machine idle until then; Ctrl-C keeps finished trials."
    )
    if plan.staying_on_http2:
        yield (
            f"Clients of {' and '.join(plan.staying_on_http2)} speak gRPC, which has no HTTP/3: they stay on HTTP/2, "
            "with TLS like the others. The report says which arm speaks which version."
        )
    if plan.blocks < MIN_BLOCKS:
        yield (
            f"Fewer than {MIN_BLOCKS} blocks give figures, but no intervals over blocks and no verdicts. "
            f"Give {'--blocks 5' if plan.kind == 'load' else 'blocks=5'} or more."
        )


def foresee_run(plan: Plan, results: Path) -> Iterator[str]:
    """Says what the blocks of a long run can show; says nothing in CI."""
    if options.in_ci() or plan.chosen or len(plan.trials()) < LONG:
        return
    from hops.statistics.over_blocks import MIN_BLOCKS

    if len(plan.arms) > 1 and plan.blocks >= MIN_BLOCKS and plan.precision is None:
        yield visible_sentence(plan, results)


def _in_all(plan: Plan) -> str:
    """Returns what the first stage is likely to decide, in words; empty if the number of blocks is fixed."""
    if plan.precision is None:
        return ""
    likely = foreseen(plan)
    return (
        f"It decides how many blocks precision={percent(plan.precision, '')} takes: about {likely.blocks} in all, "
        f"{minutes(likely.seconds)}, {likely.cause}. "
    )
