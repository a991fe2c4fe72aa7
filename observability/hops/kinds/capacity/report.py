"""The report of a sweep or a stress test, in the frame of every run's."""

from __future__ import annotations

from pathlib import Path

from hops.conclusions.wording import listed
from hops.elements.element import Element, Section, Text
from hops.gates.verdict import worst_verdict
from hops.kinds.capacity.charts import figures
from hops.kinds.capacity.conclusions import doubts
from hops.kinds.capacity.document import Document, read_capacity, topologies
from hops.kinds.capacity.tables import TRUSTED, messages_table, result_elements, steps_table, trust_elements
from hops.report import chart
from hops.report.facts import machine_facts
from hops.report.sections import manifest as made_of
from hops.report.sections import setup
from hops.report.write import Page, write_page
from hops.run.documents.gate import Verdict
from hops.run.switches import switches_text

QUESTIONS = {
    "sweep": "How many journeys a second does each topology hold?",
    "stress": "What still works as the number of users grows, and what fails?",
    "overload": "What still works at several times the rate that a topology holds, and how soon does it recover?",
}
ONE_MACHINE = (
    "One machine carries the generator, the shop, its database and its telemetry: the figures compare topologies on "
    "it, and say nothing about a cluster. How it is measured, and what it can and cannot say: "
    "docs/experiments/capacity.md."
)


def make_report(file: Path) -> tuple[Path, Verdict]:
    """Makes the report of a sweep or a stress test from its document, beside it, each file whole or not at all.

    Returns:
        The page, and the verdict.

    Raises:
        MalformedRunError: The document is cut short, or of another schema.
        OSError: The disk is full, or the folder cannot be written.
    """
    document = read_capacity(file)
    chart.restart_ids()
    manifest, reasons = document["manifest"], doubts(document)
    verdict = worst_verdict(doubt.verdict for doubt in reasons)
    facts, machine = load_facts(document), machine_facts(manifest)
    page = Page(
        name=document["name"],
        kind=document["kind"],
        question=QUESTIONS[document["kind"]],
        measured=topologies(document),
        verdict=verdict,
        trust=f"{verdict}: {'; '.join(doubt.text for doubt in reasons)}" if reasons else TRUSTED,
        facts=[facts[0], ("machine", dict(machine)["machine"]), ("measured", dict(machine)["when"])],
        sections=[
            Section("results", "Results", result_elements(document)),
            Section("validity", "Can it be trusted?", trust_elements(document)),
            Section("curves", "Curves", [figures(document)]),
            _steps(document),
            setup.section(manifest, [*facts, *machine], Text(ONE_MACHINE)),
            made_of.manifest_section(manifest),
        ],
    )
    return write_page(page, file.parent), verdict


def load_facts(document: Document) -> list[tuple[str, str]]:
    """How the load was sent, in words."""
    manifest, options = document["manifest"], document["options"]
    shown = {name: value for name, value in manifest["switches"].items() if name != "connections"}  # a step has its own
    if document["kind"] == "sweep":
        load = f"open loop, at rates that rise until p99 is no longer below {options['objective_ms']:g} ms"
    elif document["kind"] == "overload":
        load = f"open loop, in peaks of {listed([str(factor) for factor in options['factors']])} times what each holds"
    else:
        load = f"closed loop of more and more users, think time {options['think_s']:g} s"
    workload, seed = manifest["workload"], manifest["seeds"]["tape"]
    return [("load", load), ("workload", f"{workload}, seed {seed}"), ("switches", switches_text(shown))]


def _steps(document: Document) -> Section:
    elements: list[Element] = [steps_table(document)]
    if any(step["messages"] for step in document["steps"]):
        elements.append(messages_table(document))
    return Section("steps", "Steps", elements)
