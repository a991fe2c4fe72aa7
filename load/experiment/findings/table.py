"""`docs/findings/findings.yaml`: the runs that the page of findings needs, and what each finding takes from its run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Annotated

from pydantic import Field

from experiment.errors import UsageError
from experiment.findings.figures import FIGURES
from experiment.plan.workload import StrictModel
from hopwise.table import TARGETS
from mesh.paths import ROOT
from user_files.mistakes import validate
from user_files.words import valid
from user_files.yaml_file import Place, YamlFile

FOLDER = ROOT / "docs" / "findings"
"""Folder of the table, the kept runs and the charts."""
TABLE = FOLDER / "findings.yaml"
RULE = re.compile(r"(?P<figure>\w+) (?P<relation>above|below|includes) (?P<value>-?[0-9.]+)")
"""What must be true of a figure's interval: `ratio above 1` means that the whole interval is above 1.

A noisy run has a wide interval, which includes more values. So `ratio includes 1` needs bounds on both sides, such as
`ratio above 0.87` and `ratio below 1.15`."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]


class Run(StrictModel):
    """A run: the target of make, the target's settings, and whether the run's report is the documentation's example."""

    make: str
    settings: dict[str, str | int] = Field(default_factory=dict)
    example: bool = False

    @property
    def command(self) -> list[str]:
        """The command that makes the run."""
        return ["make", self.make, *(f"{name}={value}" for name, value in self.settings.items())]


class Chart(StrictModel):
    """A chart: one figure with its interval, for the named topologies or, if none are named, for all."""

    title: str
    figure: Annotated[list[str], Field(min_length=1)]
    topologies: list[str] = Field(default_factory=list)


class Finding(StrictModel):
    """A sentence, the figures in it, and the rules under which it is true.

    Attributes:
        says: The sentence, with the names of figures in braces.
        figures: Reader and arguments of each figure, by the figure's name.
        holds: Rules; the sentence is presented as true only if all of them hold.
        readme: Whether the README states the finding too.
    """

    title: str
    run: str
    says: str
    figures: dict[str, Annotated[list[str], Field(min_length=1)]]
    holds: Annotated[list[Annotated[str, Field(pattern=RULE.pattern)]], Field(min_length=1)]
    chart: Chart
    changes: str
    readme: bool = False


class Answer(StrictModel):
    """A row of the first table: a situation, which topology to choose in it, and the findings that support this."""

    have: str
    take: str
    because: Annotated[list[str], Field(min_length=1)]


class Table(StrictModel):
    """The content of `findings.yaml`."""

    runs: dict[Name, Run]
    answers: list[Answer]
    findings: dict[Name, Finding]


def read_table(file: Path = TABLE) -> Table:
    """Reads and checks the table; raises UsageError, which names the line and valid values, for a mistake."""
    opened = YamlFile.read(file, UsageError)
    table = validate(opened, Table)
    if problems := list(_problems(table)):
        raise opened.all_wrong(problems)
    return table


def _problems(table: Table) -> Iterator[tuple[Place, str]]:
    for name, run in table.runs.items():
        if run.make not in TARGETS:
            yield ("runs", name, "make"), f"is not a target of make; {valid(run.make, TARGETS)}"
    for at, answer in enumerate(table.answers):
        if unknown := [one for one in answer.because if one not in table.findings]:
            yield ("answers", at, "because"), f"there is no finding {unknown[0]}; {valid(unknown[0], table.findings)}"
    for name, finding in table.findings.items():
        place = ("findings", name)
        if finding.run not in table.runs:
            yield (*place, "run"), f"there is no run {finding.run}; {valid(finding.run, table.runs)}"
        for figure, (reader, *_) in finding.figures.items():
            if reader not in FIGURES:
                yield (*place, "figures", figure), f"there is no figure {reader}; {valid(reader, FIGURES)}"
        if (reader := finding.chart.figure[0]) not in FIGURES:
            yield (*place, "chart", "figure"), f"there is no figure {reader}; {valid(reader, FIGURES)}"
        named = {field for _, field, _, _ in Formatter().parse(finding.says) if field is not None}
        ruled = {rule.split()[0] for rule in finding.holds}
        for one in _without_bounds(finding):
            yield (*place, "holds"), f"{one} includes a value, so it also needs bounds: {one} above and {one} below"
        if unknown := sorted((named | ruled) - finding.figures.keys()):
            yield (*place, "says"), f"there is no figure {unknown[0]}; {valid(unknown[0], finding.figures)}"


def _without_bounds(finding: Finding) -> list[str]:
    """Lists the figures whose interval must include a value, but has no bounds on both sides."""
    relations: dict[str, set[str]] = {}
    for rule in finding.holds:
        figure, relation, _ = rule.split()
        relations.setdefault(figure, set()).add(relation)
    return [figure for figure, of in relations.items() if "includes" in of and not {"above", "below"} <= of]
