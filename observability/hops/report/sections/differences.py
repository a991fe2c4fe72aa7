"""Why two topologies differ: the difference between their means, split into groups and parts that add up to it."""

from __future__ import annotations

from hops.budget.groups import GROUPS
from hops.conclusions.wording import excludes_zero
from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Fold, Text
from hops.elements.table import Cell, Column, Table, estimate, table_of, texts, words
from hops.report.chart import GRID, PAPER, SOFT, Spec, draw
from hops.report.encodings import amount, kinds, layer, row_each
from hops.report.sections.flames import difference_columns, difference_flame
from hops.report.view import View
from hops.run.documents.difference import HopDifference, PartDifference

WHOLE = "whole"


def difference_elements(view: View) -> list[Element]:
    """Makes a fold for each pair of topologies; the first fold is open."""
    elements: list[Element] = [
        Text(
            "The difference between the means of traced journeys, split by hop budget. The rows of a journey add up to "
            f"its whole difference. Left of zero the first {view.compared.one} spends less there; right of zero the "
            "second does."
        )
    ]
    for index, (left, right) in enumerate(view.pairs()):
        rows = view.hop_differences(left, right)
        elements.append(
            Fold(
                f"{left} minus {right}",
                [
                    Figures(
                        [difference_chart(view, row) for row in rows],
                        key=[(view.mark(left), f"{left} spends less"), (view.mark(right), f"{right} spends less")],
                        text=f"Mean of {left} minus mean of {right}, ms, with 95 % intervals over blocks. "
                        "Hollow and grey: the interval includes zero, or is not known.",
                    ),
                    difference_table(left, right, rows),
                    *difference_flame(view, left, right),
                    Fold("By part", [part_difference_table(left, right, rows)]),
                ],
                opened=index == 0,
            )
        )
    return view.mark_tables(elements)


def difference_chart(view: View, row: HopDifference) -> Chart:
    """Draws the differences of one journey by group, as points with intervals, with the whole difference last."""
    parts = [(one["part"], one["difference_ms"], one["ci95"]) for one in row["groups"]]
    parts.sort(key=lambda one: GROUPS.index(one[0]) if one[0] in GROUPS else len(GROUPS))
    parts.append((WHOLE, row["difference_ms"], row["ci95"]))
    look_of = {look.name: look for look in view.looks}
    lower = {"left": look_of[row["left"]], "right": look_of[row["right"]]}
    rows = []
    for part, value, (low, high) in parts:
        sure = excludes_zero((low, high))
        side = "left" if value < 0 else "right"
        color = lower[side].color if sure else SOFT
        rows.append(
            {"part": part, "value": value, "low": low, "high": high, "side": side, "sure": sure, "color": color}
        )
    colors = {"field": "color", "type": "nominal", "scale": None, "legend": None}
    shapes = kinds("side", ["left", "right"], [lower["left"].shape, lower["right"].shape])
    signs = "datum.value==0?'0':format(datum.value,'+~r')"
    x = amount("value", "ms", scale={"zero": True, "padding": 8}, tickCount=4, labelExpr=signs)
    points = {"x": x, "shape": shapes, "color": colors}
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colors}
    spec: Spec = {
        "height": {"step": 20},
        "encoding": {"y": row_each("part", [part for part, _, _ in parts])},
        "layer": [
            layer("rule", {"x": amount("zero"), "y": None}, data=[{"zero": 0}], color=SOFT, strokeWidth=1),
            layer("rule", {}, data=[{"part": WHOLE}], color=GRID, yOffset=-10),
            layer("rule", ends, only="isValid(datum.low) && isValid(datum.high)", strokeWidth=2.5),
            layer("point", points, only="datum.sure", filled=True, size=50, opacity=1),
            layer("point", points, only="!datum.sure", size=46, opacity=1, strokeWidth=1.8, fill=PAPER),
        ],
    }
    described = "; ".join(
        f"{part} {numbers.plain(value, signed=True)} ms"
        + (f" ({numbers.interval(ends, signed=True)})" if any(end is not None for end in ends) else "")
        for part, value, ends in parts
    )
    title = row["journey"]
    return draw(title, f"{row['left']} minus {row['right']} for {title}, by group: {described}.", spec, rows)


def difference_table(left: str, right: str, rows: list[HopDifference]) -> Table:
    """Lists the whole difference and its groups, with a row per journey."""
    present = {one["part"] for row in rows for one in row["groups"]}
    groups = [group for group in GROUPS if group in present]
    columns = [Column("journey", numeric=False), Column("traces left"), Column("traces right")]
    columns += [Column(WHOLE, "ms", interval=True), *(Column(group, "ms", interval=True) for group in groups)]
    cells = []
    for row in rows:
        by_name = {one["part"]: one for one in row["groups"]}
        line = [
            words(row["journey"]),
            *(Cell(numbers.count(count), count) for count in row["traces"]),
            estimate(row["difference_ms"], row["ci95"], signed=True),
        ]
        cells.append([*line, *(_difference(by_name.get(group)) for group in groups)])
    caption = f"Difference between the traced means by group, {left} minus {right}, ms, with 95 % intervals"
    return Table(f"hop_differences_{left}_{right}", caption, columns, cells)


def part_difference_table(left: str, right: str, rows: list[HopDifference]) -> Table:
    """Lists the difference of every part in every journey."""
    caption = f"Difference between the traced means by part, {left} minus {right}, ms, with 95 % intervals"
    parts = [{**one, "journey": row["journey"]} for row in rows for one in row["parts"]]
    columns = [*texts("journey", "part"), *difference_columns(left, right)]
    return table_of(f"hop_difference_parts_{left}_{right}", caption, parts, columns, heads=2)


def _difference(one: PartDifference | None) -> Cell:
    return estimate(None, numbers.UNKNOWN) if one is None else estimate(one["difference_ms"], one["ci95"], signed=True)
