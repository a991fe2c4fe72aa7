"""`make findings`: makes and keeps the runs that the page of findings needs, rewrites the page, and says what
changed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from experiment.arguments import choices
from experiment.commands.options import reported_errors
from experiment.errors import UsageError
from experiment.findings.figures import Figure
from experiment.findings.kept import keep, read_kept
from experiment.findings.page import EXAMPLE, PAGE, Stated, all_stated, read_all, write_pages
from experiment.findings.table import Run, read_table
from experiment.results.folder import RESULTS, find_run
from hops.elements.numbers import seconds
from hops.run.files import SUMMARY
from mesh.description.options import takes_settings
from mesh.paths import ROOT
from mesh.supervisor.child import child_process

ALL, NONE = "all", "none"
_DONE = (0, 2)
"""Exit codes of a run that may have left results. If a program fails, make ends with 2; programs end with 3 for a NOISY
run in CI."""
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL")
"""Variables through which `make` passes its settings to another `make`."""


@takes_settings("findings")
def command(*, runs: str, run: str) -> None:
    with reported_errors():
        table = read_table()
        every = {ALL: list(table.runs), NONE: []}
        names = every[runs] if runs in every else choices("runs", runs, [*every, *table.runs])
        if run and len(names) != 1:
            raise UsageError("run= keeps one finished run: also name its entry in the table, such as runs=default")
        before, failed = all_stated(table, read_all(table)), []
        if not run:
            _say(f"making {len(names)} runs{_time_needed(names)}")
        try:
            for at, name in enumerate(names, 1):
                try:
                    what = f"{at} of {len(names)}: {name}"
                    results = find_run(RESULTS, run) if run else make_run(table.runs[name], what)
                    _keep(name, table.runs[name], results)
                except UsageError as error:  # the other runs are still worth making
                    _say(f"{name}: {error}")
                    failed.append(name)
        finally:  # even an interrupted command shows the runs that it has kept
            after = write_pages(table)
        for line in changes(before, after):
            print(line)
        _say(f"wrote {PAGE.relative_to(ROOT)}")
        if failed:
            raise UsageError(f"runs not kept: {', '.join(failed)}; `make findings runs={','.join(failed)}` tries again")


def _keep(name: str, run: Run, results: Path) -> None:
    keep(name, run, results)
    if run.example:
        for report in ("report.md", "report.html"):
            shutil.copyfile(results / report, EXAMPLE / report)


def changes(before: Mapping[str, Stated], after: Mapping[str, Stated]) -> Iterator[str]:
    """Yields what changed between two states of the findings: a line for each finding, and for each moved figure."""
    for name, now in after.items():
        was = before.get(name, now)
        said = "holds" if not now.doubt else now.doubt.lower()
        yield f"{name}: {said}" + ("" if was.doubt == now.doubt else f" (before: {was.doubt.lower() or 'held'})")
        for key, figure in now.figures.items():
            if key in was.figures and _moved(was.figures[key], figure):
                yield f"  {key} moved: {was.figures[key].text}, now {figure.text}"


def _moved(was: Figure, now: Figure) -> bool:
    """Returns whether the intervals of two figures do not overlap."""
    (low, high), (new_low, new_high) = was.ends, now.ends
    is_below = new_high is not None and low is not None and new_high < low
    is_above = new_low is not None and high is not None and new_low > high
    return is_below or is_above


def _time_needed(names: list[str]) -> str:
    """Says how many of these runs are kept, and how long they took the last time."""
    spans = [kept.manifest for name in names if (kept := read_kept(name))]
    took = sum(
        (datetime.fromisoformat(one["ended"]) - datetime.fromisoformat(one["began"])).total_seconds() for one in spans
    )
    return f"; {len(spans)} of them took {seconds(took)} the last time" if spans else ""


def make_run(run: Run, what: str) -> Path:
    """Makes a run, and returns its folder; raises UsageError if the run left no results."""
    _say(f"run {what}: {' '.join(run.command)}")
    latest = RESULTS / "latest"
    before = latest.resolve()
    with child_process(run.command, cwd=ROOT, env=environment_of_runs(), stdout=sys.stderr) as made:
        status = made.wait()
    if status not in _DONE or not (latest / SUMMARY).is_file() or latest.resolve() == before:
        raise UsageError(f"{' '.join(run.command)} ended with exit code {status} and left no results")
    return latest.resolve()


def environment_of_runs() -> dict[str, str]:
    """Returns the environment without the settings of `make findings`, which the `make` of a run would refuse."""
    return {name: value for name, value in os.environ.items() if name not in _OF_MAKE}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
