"""The kinds of experiments, each in its own folder: what their runs have in addition to the figures of every run.

Each folder has a `kind.py`, which defines what is special about the kind in the summary and the report.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hops.errors import MalformedRunError

if TYPE_CHECKING:
    from rich.console import Group

    from hops.report.view import Kind
    from hops.run.documents.gate import Verdict
    from hops.run.documents.summary import Summary
    from hops.run.files import RunFiles

# Experiments that prove the instrument are benches.
PROOF, BENCH = "proof", "bench"


def kind_of(run: RunFiles) -> Kind:
    """Finds the kind of a run, which is the folder named by its manifest.

    Raises:
        MalformedRunError: There is no such kind.
    """
    name, folders = run.manifest["kind"], kinds()
    if name not in (PROOF, *folders):
        raise MalformedRunError(f"{run.path}: the kind {name} is not known; valid ones are {', '.join(folders)}")
    return _load(name)


def kinds() -> list[str]:
    """Lists the kinds: the folders that have a `kind.py`."""
    return sorted(file.parent.name.replace("_", "-") for folder in __path__ for file in Path(folder).glob("*/kind.py"))


def _load(name: str) -> Kind:
    # Imported here, so that commands that only need the name of a kind do not wait for the imports of its report.
    folder = BENCH if name == PROOF else name.replace("-", "_")
    kind: Kind = import_module(f"{__name__}.{folder}.kind").KIND
    return kind


def show_run(summary: Summary, *, brief: bool = False) -> Group:
    """Makes the terminal view of a run of any kind; if `brief`, only the main figures."""
    from itertools import takewhile

    from hops.conclusions.notes import verdict_sentence
    from hops.elements.element import Fold, Heading, Text
    from hops.tables.gates import trust_elements
    from hops.tables.view import SummaryView
    from hops.terminal.brief import brief as main_figures
    from hops.terminal.render import render

    kind, view = _load(summary["kind"]), SummaryView(summary)
    if kind.terminal is not None:
        return main_figures(summary) if brief else kind.terminal(summary)
    section = kind.first_section(view)
    if brief:
        first = takewhile(lambda element: not isinstance(element, Heading), section.elements)
        return render([Text(verdict_sentence(summary), tone="verdict"), *first])
    unfolded = [element for element in section.elements if not isinstance(element, Fold)]
    return render([Heading(section.title), *unfolded, *trust_elements(view)])


def analyse(run: RunFiles, *, name: str) -> Summary:
    """Makes the summary of a run of any kind; arguments and errors as in `analysis.summary.summarise`."""
    from hops.analysis.summary import summarise

    kind = kind_of(run)
    return summarise(run, name=name, pairs_of=kind.pairs_of, figures_of=kind.figures_of, gates_of=kind.gates_of)


def summary_with_report(folder: Path) -> Summary:
    """Makes the summary and the report of a run from its rows.

    Raises:
        HopsError: A file is missing, cut short, or of another schema.
        OSError: The disk is full, or the folder cannot be written, or its `csv` is a symbolic link.
    """
    from hops.report import write_report
    from hops.run.files import SUMMARY, read_run, write_summary

    run = read_run(folder)
    summary = analyse(run, name=run.manifest["name"])
    write_summary(summary, folder / SUMMARY)
    write_report(run, summary, folder, kind_of(run))
    return summary


def make_report(folder: Path) -> tuple[Path, Verdict]:
    """Makes the page of a run from its files, and gives its path and the verdict; errors as `summary_with_report`."""
    from hops.report.write import PAGE

    return folder / PAGE, summary_with_report(folder)["verdict"]
