"""The sections of the report, in their order."""

from __future__ import annotations

from hops.report import (
    budget_section,
    bytes_section,
    conclusion_section,
    exemplar_section,
    latency_section,
    load_section,
    manifest_section,
    resource_section,
    setup_section,
    spread_section,
    validity_section,
)
from hops.report.blocks import Section
from hops.report.view import View


def all_sections(view: View) -> list[Section]:
    """Makes every section: conclusions first, then whether to trust them, then why."""
    return [
        conclusion_section.section(view),
        validity_section.section(view),
        setup_section.section(view),
        latency_section.section(view),
        budget_section.section(view),
        exemplar_section.section(view),
        spread_section.heat_section(view),
        spread_section.box_section(view),
        load_section.section(view),
        resource_section.section(view),
        bytes_section.section(view),
        manifest_section.observer_section(view),
        manifest_section.manifest_section(view),
        manifest_section.glossary_section(),
    ]
