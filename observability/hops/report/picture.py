"""The main result of a run as one picture for a README: hop budgets, p50 and core-hours, from its `report.md`.

A page that shows the picture in an `<img>` element cannot style it. So the picture includes colours, textures and a
background, and follows the reader's choice of light or dark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import escape

from hops.budget.groups import GROUPS
from hops.errors import HopsError
from hops.report.chart import INK, SOFT, Spec, draw
from hops.report.encodings import amount, layer, stack
from hops.report.palette import group_fill
from hops.report.templates import source
from hops.units import ALL

WIDTH = 400
"""Width of the picture in pixels. A phone shows it at about this width, so letters stay readable."""
TITLE = "Where a customer waits: mean hop budgets"
_BUDGETS = "Hop budgets by group of parts"
_LATENCY = "Latency by journey and topology"
_COST = "Core-hours for a million journeys"
_FACT = re.compile(r"^(journeys|load|machine): (.+?) *$", re.MULTILINE)
_COLUMNS = (0, 120, 250)
"""Horizontal positions of the name, p50 and core-hours of a topology, in pixels."""
_FONT = "text{font-family:Liberation Sans,Arial,sans-serif}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The figures of one topology, as in the report: mean wait by group, p50 in ms, core-hours without generator."""

    topology: str
    budget_ms: dict[str, float]
    p50: str
    core_hours: str


def picture(report: str) -> str:
    """Draws the picture as SVG, from the text of a comparison's `report.md`.

    Raises:
        HopsError: The report has no hop budgets, latencies or costs.
    """
    answers = read_answers(report)
    facts = dict(_FACT.findall(report))
    if facts.keys() != {"journeys", "load", "machine"}:
        raise HopsError("report.md: the lines journeys:, load: and machine: above the first section are missing")
    rate = facts["load"].split(", ")[1]
    machine = ", ".join(facts["machine"].split(", ")[:2])
    notes = [
        f"{facts['journeys'].replace(' in ', ' journeys in ')}, at {rate}",
        f"{machine}; core-hours are for a million journeys",
    ]
    words = describe(report)
    svg = str(draw(TITLE, words, _spec(answers, notes)).svg)
    return standalone(svg, f"{words} {'. '.join(notes)}.", textures=True)


def describe(report: str) -> str:
    """Describes the picture in words: p50 and core-hours of each topology; errors as in `read_answers`."""
    each = [f"{one.topology}: p50 {one.p50} ms, {one.core_hours} core-hours" for one in read_answers(report)]
    return f"{'; '.join(each)}."


def standalone(svg: str, words: str, *, textures: bool = False) -> str:
    """Adds to a chart what the page of a report would add: words, colours for light and dark, and a background."""
    head, rest = svg.split(">", 1)
    variables = str(source("style.css")).partition("\n* {")[0]  # light first, then dark
    drawn = str(source("textures.svg")).partition("<defs>")[2].partition("</defs>")[0]
    fills = f"<defs>{drawn}</defs>" if textures else ""
    return (
        f'{head} role="img" aria-label="{escape(words)}"><style>{_FONT}\n{variables}</style>'
        f'{fills}<rect width="100%" height="100%" fill="var(--paper)"/>{rest}\n'
    )


def read_answers(report: str) -> list[Answer]:
    """Reads the figures of each topology, the shortest mean wait first.

    Raises:
        HopsError: A table is missing.
    """
    p50 = {row["topology"]: row["p50, ms"] for row in _table(report, _LATENCY) if row["journey"] == ALL}
    cost = {row["topology"]: row["total, core-hours"] for row in _table(report, _COST)}
    answers = [
        Answer(
            row["topology"],
            {group: float(row[f"{group}, ms"]) for group in GROUPS if float(row.get(f"{group}, ms", 0))},
            p50[row["topology"]].split()[0],
            cost[row["topology"]].split()[0],
        )
        for row in _table(report, _BUDGETS)
    ]
    return sorted(answers, key=lambda one: sum(one.budget_ms.values()))


def _table(report: str, caption: str) -> list[dict[str, str]]:
    """Returns the rows of the Markdown table whose caption begins with this text."""
    _, caption_found, after = report.partition(f"\n**{caption}")
    if not caption_found:
        raise HopsError(f"report.md: no table “{caption}”; give the report of a VALID comparison with traces")
    lines = after.partition("\n\n")[2].partition("\n\n")[0].replace("\\_", "_").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def _spec(answers: list[Answer], notes: list[str]) -> Spec:
    rows = [
        {"topology": one.topology, "group": group, "ms": ms, "order": GROUPS.index(group)}
        for one in answers
        for group, ms in one.budget_ms.items()
    ]
    used = [group for group in GROUPS if any(row["group"] == group for row in rows)]
    bars = stack("bar", amount("ms", "ms", stacked=True, tickCount=5), used, [group_fill(group) for group in used])
    bars["mark"] |= {"height": 17, "yOffset": 9}
    bars["encoding"]["color"]["legend"] = {
        "title": None,
        "orient": "bottom",
        "columns": 3,
        "symbolType": "square",
        "symbolSize": 140,
        "symbolStrokeWidth": 0,
        "labelColor": INK,
        "labelFontSize": 13,
        "columnPadding": 18,
    }
    texts = [(one.topology, f"p50 {one.p50} ms", f"{one.core_hours} core-hours") for one in answers]
    words = [{"topology": name, "name": name, "p50": p50, "cost": cost} for name, p50, cost in texts]
    style: Spec = {"align": "left", "dy": -12, "fontSize": 13, "color": INK}
    weights = {"name": "bold", "p50": "normal", "cost": "normal"}
    labels = [
        layer("text", {"x": {"value": at}, "text": {"field": field}}, data=words, fontWeight=weight, **style)
        for (field, weight), at in zip(weights.items(), _COLUMNS, strict=True)
    ]
    y = {"field": "topology", "type": "nominal", "scale": {"domain": [one.topology for one in answers]}, "axis": None}
    return {
        "width": WIDTH,
        "height": {"step": 48},
        "title": {
            "text": TITLE,
            "fontSize": 15,
            "subtitle": notes,
            "subtitleColor": SOFT,
            "subtitleFontSize": 12,
            "subtitlePadding": 6,
            "offset": 10,
        },
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": [bars, *labels],
    }
