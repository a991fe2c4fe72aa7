"""The sections of the report, in their order."""

from __future__ import annotations

from hops.elements.element import Section
from hops.report import glossary
from hops.report.sections import (
    budget,
    exemplar,
    ladder,
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
from hops.tables.conclusion import conclusion_elements


def all_sections(view: View) -> list[Section]:
    """Makes every section: conclusions first, then whether to trust them, then why.

    A ladder's conclusions are what its steps add: which of its arms is the fastest is no question.
    """
    return [
        ladder.section(view.summary["ladder"])
        if "ladder" in view.summary
        else Section("conclusions", "What this run says", conclusion_elements(view)),
        validity.section(view),
        setup.section(view),
        latency.section(view),
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
