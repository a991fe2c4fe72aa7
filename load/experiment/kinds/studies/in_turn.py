"""Replays of several studies, one after the other: an experiment each, and one page over them. Any may be resumed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import typer

from experiment.blocks import expected_s
from experiment.commands import options
from experiment.plan.arms_in_blocks import PLAN, Plan, plan_of
from experiment.plan.resume import interrupted
from experiment.progress import minutes, shown
from experiment.results.folder import RESULTS, ResultsFolder, read_json, unfinished
from experiment.results.manifest import git_state, machine, now
from experiment.runner import begin, run_plan
from hops.conclusions.wording import plural
from hops.kinds import make_report
from hops.kinds.studies.document import KIND, VERDICTS_KIND, Verdicts
from hops.run.documents import SCHEMA
from mesh.description.ports import load_ports
from mesh.paths import ROOT

DOCUMENT = f"{VERDICTS_KIND}.json"
PLANS = "plans.json"


class InTurn:
    """The replays of one command, and the document over them.

    Args:
        folder: Folder of the document and the plans, open.
        plans: Plan of each study's replay, by its name.
        began: When the first one began.
        runs: Folder of each replay that has begun, by its name.
    """

    def __init__(self, folder: ResultsFolder, plans: Sequence[Plan], began: str, runs: Mapping[str, str]) -> None:
        self._folder = folder
        self._plans = plans
        self._began = began
        self._runs = dict(runs)

    @classmethod
    def begin(cls, plans: Sequence[Plan]) -> InTurn:
        """Begins new replays.

        Raises:
            UsageError: The disk has too little room, or the folder cannot be written.
        """
        in_turn = cls(ResultsFolder.new(RESULTS, KIND), plans, now(), {})
        in_turn._note()
        return in_turn

    @classmethod
    def take_up(cls, run: str) -> InTurn:
        """Takes up replays that were interrupted.

        Args:
            run: `latest`, or the folder's name.

        Raises:
            UsageError: There are none of this name, or somebody else is at work on them.
        """
        folder = interrupted(unfinished(RESULTS, PLANS), run, KIND)
        kept = read_json(folder.path / PLANS)
        return cls(folder, [plan_of(plan) for plan in kept["plans"]], kept["began"], kept["runs"])

    def run(self, *, retry: int, strict: bool, as_json: bool) -> None:
        """Runs every replay that is not finished, shows the verdicts, and ends the program.

        Args:
            retry: Times to repeat a trial in which a gate fails.
            strict: Whether NOISY verdicts end with an exit code.
            as_json: Whether the document is printed as it is, instead.
        """
        try:
            self._announce()
            for plan in self._plans:
                if not self._is_finished(plan):
                    self._replay(plan, retry)
            document = self._document()
            self._folder.write_json(DOCUMENT, document)
            _, verdict = make_report(self._folder.path)
        except BaseException:
            done = sum(map(self._is_finished, self._plans))
            self._folder.set_aside()
            print(f"{done} of {plural(len(self._plans), 'replay')} are finished.", file=sys.stderr)
            raise
        path = self._folder.publish(latest=False)  # `latest` is what `make trace` looks at: a run with traces
        if as_json:
            options.print_file(path / DOCUMENT)
        else:
            from hops.kinds.studies.report import terminal

            out = options.console()
            out.print(terminal(document))
            for run in self._runs.values():
                out.print(f"Study:   {shown(RESULTS / run / 'report.html')}")
            options.print_places(out, path)
        options.end(verdict, strict=strict)

    def _replay(self, plan: Plan, retry: int) -> None:
        if plan.name in self._runs:
            folder = ResultsFolder(RESULTS / self._runs[plan.name])
            folder.reopen()
            plan = plan_of(read_json(folder.path / PLAN))
        else:
            folder = begin(plan, RESULTS)
            self._runs[plan.name] = folder.final.name
            self._note()
        typer.echo(f"{plan.name}: {plural(len(plan.arms), 'arm')}, {plural(plan.blocks, 'block')}", err=True)
        run_plan(plan, folder, load_ports(os.environ), retry=retry)

    def _is_finished(self, plan: Plan) -> bool:
        return plan.name in self._runs and (RESULTS / self._runs[plan.name]).is_dir()

    def _note(self) -> None:
        plans = [plan.as_document() for plan in self._plans]
        self._folder.write_json(PLANS, {"began": self._began, "runs": self._runs, "plans": plans})

    def _document(self) -> Verdicts:
        # Not at the top: statistics and tables take a moment to load.
        from hops.kinds.studies.report import finished

        manifest = {"git": git_state(ROOT), "machine": machine(), "began": self._began, "ended": now()}
        studies = [finished(RESULTS / self._runs[plan.name]) for plan in self._plans]
        return Verdicts(schema=SCHEMA, name=self._folder.final.name, manifest=manifest, studies=studies)

    def _announce(self) -> None:
        left = [plan for plan in self._plans if not self._is_finished(plan)]
        trials = sum(len(plan.trials()) for plan in left)
        took = minutes(sum(map(expected_s, left)))
        typer.echo(
            f"{plural(len(left), 'replay')}, {plural(trials, 'trial')}, {took}. Leave the machine idle until then; "
            "Ctrl-C keeps finished trials.",
            err=True,
        )
