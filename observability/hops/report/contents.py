"""The sections of the report, in their order."""

from __future__ import annotations

from hops.elements.element import Section
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


def all_sections(view: View) -> list[Section]:
    """Makes every section: the conclusions with their picture, then why, then whether to trust them and the details."""
    manifest = view.run.manifest
    tape = ("tape", str(view.summary["tape"].get("sha256", "")))
    modelled = view.kind.modelled(view) if view.kind.modelled else view
    said = view.kind.conclusions(view)
    first, *others = said.elements
    return [
        Section(said.key, said.title, [first, latency.picture(view), *others]),
        budget.section(view),
        *([meetings.section(view)] if view.summary.get("meetings") else []),
        *([distance.section(modelled, view.summary["distance"])] if "distance" in view.summary else []),
        latency.section(view),
        *([spread.heat_section(view)] if len(view.looks) > 1 else []),
        spread.box_section(view),
        exemplar.section(view),
        load.section(view),
        resource.section(view),
        bytes_section.section(view),
        validity.section(view),
        setup.section(manifest, [*load_facts(view), *machine_facts(manifest), tape]),
        made_of.observer_section(view),
        made_of.manifest_section(manifest),
        glossary.glossary_section(),
    ]
