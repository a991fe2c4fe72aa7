"""The sections of the report, in their order."""

from __future__ import annotations

from dataclasses import replace

from hops.elements.element import Element, Fold, Points, Section, Text
from hops.elements.table import Table
from hops.report import glossary
from hops.report.facts import load_facts, machine_facts
from hops.report.sections import budget, distance, exemplar, latency, load, meetings, resource, setup, spread, validity
from hops.report.sections import bytes as bytes_section
from hops.report.sections import manifest as made_of
from hops.report.view import View
from hops.run.fault_notice import fault_notice
from hops.tables.conclusion import FASTEST

MAX_IN_DETAIL = 30
"""With more arms than this, the report omits the sections that show each arm."""


def all_sections(view: View) -> list[Section]:
    """Makes every section: the conclusions with their picture, the reasons, then validity and details."""
    manifest = view.run.manifest
    tape = ("tape", str(view.summary["tape"].get("sha256", "")))
    modelled = view.kind.modelled(view) if view.kind.modelled else view
    few = len(view.topologies) <= MAX_IN_DETAIL
    traced, in_detail = view.traced and few, view.kind.in_detail and few
    sections = [
        add_picture(view.kind.first_section(view), view),
        *([budget.section(view)] if traced else []),
        *([meetings.section(view)] if view.summary.get("meetings") and in_detail else []),
        *([distance.section(modelled, view.summary["distance"])] if "distance" in view.summary else []),
        *([resource.section(view), latency.section(view)] if in_detail else []),
        *([spread.box_section(view)] if in_detail else []),
        *([exemplar.section(view)] if traced else []),
        *([bytes_section.section(view), load.section(view)] if in_detail else []),
        validity.section(view),
        *([made_of.observer_section(view)] if traced else []),
        setup.section(manifest, [*load_facts(view), *machine_facts(manifest), tape]),
        made_of.manifest_section(manifest),
        glossary.glossary_section(),
    ]
    return [sections[0], *(replace(section, folded=True) for section in sections[1:])]


def add_picture(section: Section, view: View) -> Section:
    """Adds pictures to the first section: after its first sentence, before the rest of the text.

    A comparison shows the heat map and the hop budgets of the whole mix; the table of the fastest is behind a fold.
    """
    first, *others = section.elements
    several = len(view.looks) > 1
    budgets = budget.mean_figures(view) if view.kind.picture is None else None
    picture = view.kind.picture or latency.picture
    if not isinstance(first, Points):
        return Section(section.key, section.title, [first, picture(view), *others])
    lead = 1 + bool(fault_notice(view.summary["switches"]))
    has_fastest = bool(others) and isinstance(others[0], Table) and others[0].key == FASTEST
    fastest = 1 + isinstance(others[1], Text) if has_fastest else 0  # with the note below the table
    words: list[Element] = [Points(first.items[lead:], tone="sentences")] if len(first.items) > lead else []
    front: list[Element] = [Points(first.items[:lead], tone=first.tone)]
    if view.kind.picture is not None or not (several or budgets):
        return Section(
            section.key, section.title, [*front, picture(view), *others[:fastest], *words, *others[fastest:]]
        )
    front += [spread.heat_table(view, "p50", "Median")] if several else []
    front.append(budgets or picture(view))
    behind: list[Element] = [
        *([Fold("Which is the fastest, and how far ahead", others[:fastest], brief=True)] if fastest else []),
        *([Fold("Median and p99 of each journey", [picture(view)], opened=not several)] if budgets else []),
    ]
    folds = [at for at, one in enumerate(others) if isinstance(one, Fold)]
    until = folds[0] if folds else len(others)
    return Section(section.key, section.title, [*front, *words, *others[fastest:until], *behind, *others[until:]])
