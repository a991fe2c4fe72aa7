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
    resource,
    setup,
    spread,
    validity,
)
from hops.report.sections import bytes as bytes_section
from hops.report.sections import manifest as made_of
from hops.report.view import View


def all_sections(view: View) -> list[Section]:
    """Makes every section: conclusions first, then whether to trust them, then why."""
    manifest = view.run.manifest
    tape = ("tape", str(view.summary["tape"].get("sha256", "")))
    modelled = view.kind.modelled(view) if view.kind.modelled else view
    return [
        view.kind.conclusions(view),
        validity.section(view),
        setup.section(manifest, [*load_facts(view), *machine_facts(manifest), tape]),
        latency.section(view),
        *([distance.section(modelled, view.summary["distance"])] if "distance" in view.summary else []),
        budget.section(view),
        exemplar.section(view),
        spread.heat_section(view),
        spread.box_section(view),
        load.section(view),
        resource.section(view),
        bytes_section.section(view),
        made_of.observer_section(view),
        made_of.manifest_section(manifest),
        glossary.glossary_section(),
    ]
