"""The verdicts over all studies: one page, for whoever asks which of them is right."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from rich.console import Group

from hops.conclusions.notes import verdict_sentence
from hops.conclusions.wording import listed, plural
from hops.elements.element import Element, Points, Section, Text
from hops.elements.table import Column, Table, whole, words
from hops.gates.verdict import MEANING, worst_verdict
from hops.kinds.studies.charts import effects
from hops.kinds.studies.document import OUTCOMES, Finished, Verdict, Verdicts, replayed_in
from hops.kinds.studies.tables import (
    RULE,
    cited,
    claims_table,
    counted,
    explained,
    loads_table,
    replay_text,
    several_note,
    source,
)
from hops.kinds.studies.verdict import holm
from hops.report import chart
from hops.report.facts import machine_facts
from hops.report.sections.setup import setup_table
from hops.report.write import Page, write_page
from hops.run.documents import SCHEMA
from hops.run.documents.gate import VALID, WRONG
from hops.run.documents.gate import Verdict as RunVerdict
from hops.run.documents.summary import Summary
from hops.run.files import SUMMARY, read_document, read_run
from hops.terminal.render import rendered

ONE_MACHINE = (
    "One machine carries the load generator, the shop, its database and its telemetry, and every arm is this project's "
    "own shop: the verdicts are about what the protocols do here, and not about the studies' code. How each study is "
    "replayed, and what cannot be compared: docs/experiments/studies.md."
)
_COMPACT = ("claim", "says", "measured", "verdict")


def read_verdicts(path: Path) -> Verdicts:
    """Reads `verdicts.json`.

    Raises:
        MalformedRunError: It is missing, cut short, or of another schema; names the file.
    """
    document = read_document(path, SCHEMA)
    for study in document["studies"]:
        if "valid" in study:  # as earlier versions have it
            study["verdict"] = VALID if study.pop("valid") else WRONG
    return cast("Verdicts", document)


def finished(folder: Path) -> Finished:
    """What the document over several studies has of a finished one.

    Args:
        folder: Folder of the run that replayed it.

    Raises:
        MalformedRunError: A file is missing, cut short, or of another schema.
    """
    run, summary = read_run(folder), cast("Summary", read_document(folder / SUMMARY))
    replayed = replayed_in(summary)
    return Finished(
        study=replayed["study"],
        verdicts=replayed["verdicts"],
        run=folder.name,
        verdict=summary["verdict"],
        blocks=summary["blocks"],
        journeys=run.journeys.height,
        trust=verdict_sentence(summary),
    )


def make_report(file: Path) -> tuple[Path, RunVerdict]:
    """Makes the page over all studies from their document, beside it, each file whole or not at all.

    Returns:
        The page, and the verdict.

    Raises:
        MalformedRunError: The document is cut short, or of another schema.
        OSError: The disk is full, or the folder cannot be written.
    """
    document = read_verdicts(file)
    chart.restart_ids()
    studies, facts = document["studies"], dict(machine_facts(document["manifest"]))
    verdict = worst_verdict(one["verdict"] for one in studies)
    doubtful = [cited(one["study"]) for one in studies if one["verdict"] == verdict]
    drawn = [(cited(one["study"]), one) for one in studies]
    trust = [f"{cited(one['study'])}: {one['trust']}" for one in studies]
    page = Page(
        name=document["name"],
        kind="verdicts",
        question="Five published studies contradict each other on REST, GraphQL, gRPC and Thrift. Which claims hold?",
        measured=[cited(one["study"]) for one in studies],
        verdict=verdict,
        trust=f"{verdict}: {MEANING[verdict]}, in every trial of every study."
        if verdict == VALID
        else f"{verdict}: {listed(doubtful)}: {MEANING[verdict]}.",
        facts=[
            ("journeys", f"{sum(one['journeys'] for one in studies):,}"),
            ("machine", facts["machine"]),
            ("measured", facts["when"]),
        ],
        sections=[
            Section("verdicts", "Verdicts", verdict_elements(document, effects(drawn))),
            *(_section(one) for one in studies),
            Section("validity", "Can it be trusted?", [Points(trust)]),
            Section("setup", "What was measured", [setup_table(list(facts.items())), Text(ONE_MACHINE)]),
        ],
    )
    return write_page(page, file.parent), verdict


def verdict_elements(document: Verdicts, *pictures: Element) -> list[Element]:
    """How many claims hold, by study, and why others are contradicted.

    Args:
        document: The document.
        pictures: Elements behind the first table.
    """
    studies = document["studies"]
    verdicts = _corrected(studies)
    rows = [
        [words(cited(one["study"])), *(whole(_count(one["verdicts"], name)) for name in OUTCOMES), words(one["run"])]
        for one in studies
    ]
    columns = [Column("study", numeric=False), *map(Column, OUTCOMES), Column("run", numeric=False, spare=1)]
    explanations = [f"{cited(one['study'])}, {text}" for one in studies for text in _explained(one["verdicts"])]
    return [
        Points([counted(verdicts)], tone="sentences"),
        Table("verdicts", "Verdicts by study", columns, rows),
        *pictures,
        *([Points(explanations, tone="sentences")] if explanations else []),
        Text(f"{RULE} {several_note(verdicts)}"),
    ]


def terminal(document: Verdicts) -> Group:
    """The counts, and each claim with its verdict."""
    tables = [_compact(one) for one in document["studies"]]
    return rendered([*verdict_elements(document), *tables])


def _section(one: Finished) -> Section:
    study = one["study"]
    return Section(
        study["id"],
        cited(study),
        [
            Text(source(study)),
            claims_table(f"claims_{study['id']}", f"{cited(study)}: {counted(one['verdicts'])}", one["verdicts"]),
            loads_table(study),
            Text(replay_text(study)),
            Text(
                f"{one['journeys']:,} journeys in {plural(one['blocks'], 'block')}; their latencies, hop budgets and "
                f"gates are in the report of {one['run']}."
            ),
        ],
    )


def _compact(one: Finished) -> Table:
    table = claims_table(one["study"]["id"], cited(one["study"]), one["verdicts"])
    kept = [index for index, column in enumerate(table.columns) if column.name in _COMPACT]
    return Table(
        table.key, table.caption, [table.columns[i] for i in kept], [[row[i] for i in kept] for row in table.rows]
    )


def _corrected(studies: list[Finished]) -> list[Verdict]:
    """All verdicts, with their correction over all studies' claims together."""
    verdicts = [verdict for one in studies for verdict in one["verdicts"]]
    corrected = holm([verdict["p"] for verdict in verdicts])
    return [{**verdict, "p_holm": p} for verdict, p in zip(verdicts, corrected, strict=True)]


def _explained(verdicts: list[Verdict]) -> list[str]:
    return [text for verdict in verdicts if (text := explained(verdict))]


def _count(verdicts: list[Verdict], outcome: str) -> int:
    return sum(verdict["outcome"] == outcome for verdict in verdicts)
