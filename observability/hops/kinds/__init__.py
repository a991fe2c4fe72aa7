"""The kinds of experiments, a folder for each: what a run of it has beside the figures of every run.

A kind whose trials run in blocks has a `kind.py`, from which the summary and the report take what sets it apart.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hops.errors import MalformedRunError

if TYPE_CHECKING:
    from rich.console import Group

    from hops.report.view import Kind
    from hops.run.documents.summary import Summary
    from hops.run.files import RunFiles

#: A line for each kind: its name in manifests, and its folder.
KINDS = {
    "bench": "bench",
    "compare": "compare",
    "proof": "bench",  # an experiment that proves the instrument
    "ladder": "ladder",
    "rtt": "rtt",
}


def kind_of(run: RunFiles) -> Kind:
    """The kind of a run.

    Raises:
        MalformedRunError: its manifest names none of `KINDS`.
    """
    name = run.manifest["kind"]
    if name not in KINDS:
        raise MalformedRunError(f"{run.path}: the kind {name} is not known; valid ones are {', '.join(KINDS)}")
    return _named(name)


def _named(name: str) -> Kind:
    # Not at the top: commands that need a name of a kind should not have to wait for what makes its report.
    kind: Kind = import_module(f"{__name__}.{KINDS[name]}.kind").KIND
    return kind


def shown(summary: Summary) -> Group:
    """What a terminal shows of a run of any kind."""
    return _named(summary["kind"]).terminal(summary)


def analyse(run: RunFiles, *, name: str) -> Summary:
    """Makes the summary of a run of any kind; its arguments and errors are those of `analysis.summary.summarise`."""
    from hops.analysis.summary import summarise

    kind = kind_of(run)
    return summarise(run, name=name, pairs_of=kind.pairs_of, figures_of=kind.figures_of)


def write_report(run: RunFiles, summary: Summary, folder: Path) -> Path:
    """Writes the report of a run of any kind; its arguments and errors are those of `report.write_report`."""
    from hops import report

    return report.write_report(run, summary, folder, kind_of(run))
