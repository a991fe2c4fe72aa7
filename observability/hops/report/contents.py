"""The sections of the report, in their order."""

from __future__ import annotations

from hops.elements.element import Element, Points, Section
from hops.elements.table import Table
from hops.report import glossary
from hops.report.facts import load_facts, machine_facts
from hops.report.sections import (
    budget,
    distance,
    exemplar,
    latency,
    load,
    meetings,
    resource,
    setup,
    spread,
    validity,
)
from hops.report.sections import bytes as bytes_section
from hops.report.sections import manifest as made_of
from hops.report.view import View
from hops.run.fault_notice import fault_notice

MAX_IN_DETAIL = 30
"""Maximum number of arms for which the report has the sections that show each of them."""


def all_sections(view: View) -> list[Section]:
    """Makes every section: the conclusions with their picture, the reasons, then validity and details."""
    manifest = view.run.manifest
    tape = ("tape", str(view.summary["tape"].get("sha256", "")))
    modelled = view.kind.modelled(view) if view.kind.modelled else view
    few = len(view.topologies) <= MAX_IN_DETAIL
    traced, in_detail = view.traced and few, view.kind.in_detail and few
    sections = [
        pictured(view.kind.conclusions(view), view),
        *([budget.section(view)] if traced else []),
        *([meetings.section(view)] if view.summary.get("meetings") and in_detail else []),
        *([distance.section(modelled, view.summary["distance"])] if "distance" in view.summary else []),
        *([resource.section(view), latency.section(view)] if in_detail else []),
        *([spread.heat_section(view)] if len(view.looks) > 1 and in_detail else []),
        *([spread.box_section(view)] if in_detail else []),
        *([exemplar.section(view)] if traced else []),
        *([bytes_section.section(view), load.section(view)] if in_detail else []),
        validity.section(view),
        *([made_of.observer_section(view)] if traced else []),
    ]
    return [
        *sections,
        setup.section(manifest, [*load_facts(view), *machine_facts(manifest), tape]),
        made_of.manifest_section(manifest),
        glossary.glossary_section(),
    ]


def pictured(said: Section, view: View) -> Section:
    """Adds the picture to the first section: one sentence, the picture, the table with its note, then the words."""
    first, *others = said.elements
    picture = view.kind.picture or latency.picture
    if not isinstance(first, Points):
        return Section(said.key, said.title, [first, picture(view), *others])
    lead = 1 + bool(fault_notice(view.summary["switches"]))
    beside = 2 if others and isinstance(others[0], Table) else 0
    words: list[Element] = [Points(first.items[lead:], tone="sentences")] if len(first.items) > lead else []
    front: list[Element] = [Points(first.items[:lead], tone=first.tone), picture(view)]
    return Section(said.key, said.title, [*front, *others[:beside], *words, *others[beside:]])
