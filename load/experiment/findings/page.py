"""Writes `docs/findings.md`, its charts, and the README's answer, from the table and the kept runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from experiment.errors import UsageError
from experiment.findings.chart import chart, chart_file
from experiment.findings.figures import Figure, read_figure
from experiment.findings.kept import Kept, read_kept
from experiment.findings.table import FOLDER, RULE, Finding, Table
from experiment.marked import write_marked
from hops.elements.element import Chart
from hops.report.picture import describe, picture
from hops.run.documents.gate import VALID
from mesh.paths import ROOT

PAGE = ROOT / "docs" / "findings.md"
README = ROOT / "README.md"
EXAMPLE = ROOT / "docs" / "example"
PICTURE = "answer.svg"
MARK = "findings"
NOT_MEASURED, NOT_SHOWN = "Not measured yet", "Not shown"
"""Why a finding cannot be stated: it has no run, or its run does not show it."""


class Stated(NamedTuple):
    """What a kept run says about a finding.

    Attributes:
        doubt: Why the finding must not be quoted: no run, a figure that the run lacks, a verdict other than VALID, or a
            rule that does not hold. Empty if it may be quoted.
        text: The finding's sentence with its figures; empty without a run, or if the run lacks a figure.
    """

    doubt: str
    text: str
    figures: Mapping[str, Figure]


def state(finding: Finding, kept: Kept | None) -> Stated:
    """Returns what a kept run says about a finding."""
    if kept is None:
        return Stated(NOT_MEASURED, "", {})
    try:
        figures = {name: read_figure(kept.summary, *asked) for name, asked in finding.figures.items()}
    except UsageError:
        return Stated(NOT_SHOWN, "", {})
    text = finding.says.format(**{name: figure.text for name, figure in figures.items()}).strip()
    rules = [RULE.fullmatch(rule) for rule in finding.holds]
    if not all(rule and figures[rule["figure"]].holds(rule["relation"], float(rule["value"])) for rule in rules):
        return Stated(NOT_SHOWN, text, figures)
    verdict: str = kept.summary["verdict"]
    return Stated("" if verdict == VALID else verdict, text, figures)


def draw(finding: Finding, kept: Kept | None) -> Chart | None:
    """Draws a finding's chart; returns None without a run, or if the run lacks a figure of the chart."""
    try:
        return chart(finding.chart, kept) if kept else None
    except UsageError:
        return None


def read_all(table: Table, folder: Path = FOLDER) -> dict[str, Kept | None]:
    """Reads the kept run of each finding, by the finding's name."""
    kept = {name: read_kept(name, folder) for name in table.runs}
    return {name: kept[finding.run] for name, finding in table.findings.items()}


def all_stated(table: Table, kept: Mapping[str, Kept | None]) -> dict[str, Stated]:
    """Returns what the kept runs say about every finding, by the finding's name."""
    return {name: state(finding, kept[name]) for name, finding in table.findings.items()}


def section(table: Table, kept: Mapping[str, Kept | None]) -> str:
    """Returns the text for the page's marked section."""
    return "\n".join(_lines(table, all_stated(table, kept), kept)) + "\n"


def _lines(table: Table, stated: Mapping[str, Stated], kept: Mapping[str, Kept | None]) -> Iterator[str]:
    numbers = {name: at for at, name in enumerate(table.findings, 1)}
    yield "| if you have this | take that | because |"
    yield "|---|---|---|"
    for answer in table.answers:
        doubts = dict.fromkeys(stated[name].doubt for name in answer.because if stated[name].doubt)
        because = ", ".join(f"[{numbers[name]}](#{name})" for name in answer.because)
        doubt = "".join(f"**{one}.** " for one in doubts)
        yield f"| {answer.have} | {doubt}{answer.take} | {because} |"
    for name, finding in table.findings.items():
        run, (doubt, text, _) = table.runs[finding.run], stated[name]
        yield f'\n<a id="{name}"></a>\n\n## {numbers[name]}. {finding.title}\n'
        if doubt:
            yield f"**{doubt}.** {text}".strip()
        else:
            yield f"**{text}**"
        if of := kept[name]:
            if drawn := draw(finding, of):
                yield f'\n<img src="{FOLDER.name}/{name}.svg" width="560" alt="{drawn.description}">'
            yield f"\n`{' '.join(run.command)}`, {_run_words(of)}."
        else:
            yield f"\n`{' '.join(run.command)}`"
        yield f"\nWhat would change it: {finding.changes}"


def _run_words(kept: Kept) -> str:
    manifest, machine = kept.manifest, kept.manifest["machine"]
    commit = manifest["git"]["commit"][:8] + (" with changes" if manifest["git"]["dirty"] else "")
    return (
        f"{manifest['began'][:10]}, {machine['cpu']}, {machine['cores']} cores, commit {commit}: "
        f"{kept.summary['verdict']}, {kept.summary['blocks']} blocks"
    )


def answer(table: Table, kept: Mapping[str, Kept | None], example: Path = EXAMPLE) -> str:
    """Returns the README's answer: the findings that the README quotes, and the picture."""
    stated = all_stated(table, kept)
    said = [stated[name] for name, finding in table.findings.items() if finding.readme]
    sentences = [one.text if not one.doubt else f"**{one.doubt}:** {one.text}".strip() for one in said]
    words = describe((example / "report.md").read_text(encoding="utf-8"))
    image = f'<img src="docs/example/{PICTURE}" width="560" alt="Four stacked hop budgets. {words}">'
    return "\n\n".join([*sentences, image]) + "\n"


def write_pages(table: Table) -> dict[str, Stated]:
    """Writes the page, its charts, and the README's answer and picture; returns what the runs say about findings."""
    kept = read_all(table)
    write_marked(PAGE, MARK, section(table, kept))
    for name, finding in table.findings.items():
        file, drawn = FOLDER / f"{name}.svg", draw(finding, kept[name])
        if drawn:
            file.write_text(chart_file(drawn), encoding="utf-8")
        else:  # the chart of an earlier run would show what is not stated
            file.unlink(missing_ok=True)
    report = (EXAMPLE / "report.md").read_text(encoding="utf-8")
    (EXAMPLE / PICTURE).write_text(picture(report), encoding="utf-8")
    write_marked(README, MARK, answer(table, kept))
    return all_stated(table, kept)
