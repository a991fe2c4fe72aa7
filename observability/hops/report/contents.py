"""The sections of the report, in their order."""

from __future__ import annotations

from dataclasses import replace

from hops.conclusions.rtt import at_distance
from hops.elements.element import Section
from hops.report import glossary
from hops.report.sections import (
    budget,
    distance,
    exemplar,
    ladder,
    latency,
    load,
    manifest,
    resource,
    rtt,
    setup,
    spread,
    validity,
)
from hops.report.sections import bytes as bytes_section
from hops.report.view import View
from hops.tables.conclusion import conclusion_elements


def all_sections(view: View) -> list[Section]:
    """Makes every section: conclusions first, then whether to trust them, then why.

    A ladder's conclusions are what its steps add, and those of an experiment over distances what distance does: which
    of their arms is the fastest is no question.
    """
    return [
        _conclusions(view),
        validity.section(view),
        setup.section(view),
        latency.section(view),
        *([distance.section(_by_topology(view), view.summary["distance"])] if "distance" in view.summary else []),
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


def _by_topology(view: View) -> View:
    """The view of the nearest arms, where topologies have several: the curves of the model are from these."""
    if "rtt" not in view.summary:
        return view
    return replace(view, summary=at_distance(view.summary, view.summary["rtt"]["rtts_ms"][0]))


def _conclusions(view: View) -> Section:
    if "ladder" in view.summary:
        return ladder.section(view.summary["ladder"])
    if "rtt" in view.summary:
        return rtt.section(view)
    return Section("conclusions", "What this run says", conclusion_elements(view))
