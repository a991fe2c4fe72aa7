"""The sections of the report, in their order."""

from __future__ import annotations

from hops.elements.element import Section
from hops.report import glossary
from hops.report.sections import (
    budget,
    distance,
    exemplar,
    latency,
    load,
    manifest,
    resource,
    setup,
    spread,
    validity,
)
from hops.report.sections import bytes as bytes_section
from hops.report.view import View


def all_sections(view: View) -> list[Section]:
    """Makes every section: conclusions first, then whether to trust them, then why."""
    modelled = view.kind.modelled(view) if view.kind.modelled else view
    return [
        view.kind.conclusions(view),
        validity.section(view),
        setup.section(view),
        latency.section(view),
        *([distance.section(modelled, view.summary["distance"])] if "distance" in view.summary else []),
        budget.section(view),
        exemplar.section(view),
        spread.heat_section(view),
        spread.box_section(view),
        load.section(view),
        resource.section(view),
        bytes_section.section(view),
        manifest.observer_section(view),
        manifest.manifest_section(view),
        glossary.glossary_section(),
    ]
