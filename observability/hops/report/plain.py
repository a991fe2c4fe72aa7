"""The page of a run that is one document, without gates or journeys of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hops.elements.element import Section
from hops.gates.verdict import Doubt, worst_verdict
from hops.report import chart
from hops.report.facts import machine_facts
from hops.report.sections.setup import setup_table
from hops.report.write import Page, write_page
from hops.run.documents.gate import Verdict
from hops.run.switches import switches_text


def write_plain(
    folder: Path,
    document: Any,
    kind: str,
    question: str,
    sections: Sequence[Section],
    sound: str,
    doubts: Sequence[Doubt],
) -> tuple[Path, Verdict]:
    """Writes the page of a run, whole or not at all.

    Args:
        folder: Where it goes.
        document: The run's, with its name and its manifest.
        kind: Kind of the run.
        question: What it answers.
        sections: What it found; what was measured comes behind them.
        sound: What can be said of a run without doubts, in a sentence.
        doubts: Why the figures may not be trusted.

    Returns:
        The page, and the verdict.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    chart.restart_ids()
    facts = dict(machine_facts(document["manifest"]))
    if switches := document["manifest"].get("switches"):
        facts |= {"workload": document["manifest"]["workload"], "switches": switches_text(switches)}
    verdict = worst_verdict(doubt.verdict for doubt in doubts)
    first = next((f"{doubt.text}." for doubt in doubts if doubt.verdict == verdict), sound)
    page = Page(
        name=document["name"],
        kind=kind,
        question=question,
        measured=list(document["manifest"]["topologies"]),
        verdict=verdict,
        trust=f"{verdict}: {first}",
        facts=[("machine", facts["machine"]), ("measured", facts["when"])],
        sections=[*sections, Section("setup", "What was measured", [setup_table(list(facts.items()))])],
    )
    return write_page(page, folder), verdict
