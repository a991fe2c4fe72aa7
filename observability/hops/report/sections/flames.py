"""Flame graphs: the mean trace of each topology, and the difference between two mean traces with its intervals.

The root is on top, and each frame is as wide as its time. Below a frame are the calls that it waited for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from hops.analysis.call_paths import frame_differences, mean_trace
from hops.analysis.summary import blocks_of, load_of
from hops.budget.call_paths import SEPARATOR
from hops.conclusions.wording import excludes_zero
from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Fold, Text
from hops.elements.table import Cell, Column, Table, estimate, number, table_of, words
from hops.report.chart import GRID, INK, PAPER, Spec, draw
from hops.report.encodings import amount, layer
from hops.report.palette import group_key, part_class
from hops.report.view import View
from hops.run.documents.difference import PartDifference
from hops.tables.budget import used_groups
from hops.units import ALL

WIDTH = 640
"""Width of a graph, in pixels."""
MORE, LESS = "var(--bad)", "var(--accent)"
"""Red where the left topology takes longer, blue where the right topology does."""
_NOT_KEPT = "This run kept no call paths, so it has no flame graphs."
_MIN_PX, _MIN_CHARACTERS, _CHARACTER_PX, _ROW_PX = 1.0, 4, 6.2, 19
_STEP = " › "


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame as it is drawn, with shorter labels if it is narrower; paler frames keep their labels readable."""

    path: str
    ms: float
    labels: Sequence[str]
    title: str
    fill: str
    opacity: float


def flame_elements(view: View) -> list[Element]:
    """Shows the mean trace of each topology, all on one scale."""
    traces = {name: frames for name in view.topologies if (frames := _trace_of(view, name))}
    if not traces:
        return [Text(_NOT_KEPT)]
    longest = max(map(_whole, traces.values()))
    charts = [
        _draw(
            name,
            f"Mean trace of {name}, {numbers.plain(_whole(frames))} ms, by call path; figures in the table.",
            _color_by_group(frames),
            longest,
        )
        for name, frames in traces.items()
    ]
    key = group_key(used_groups(view))
    text = (
        "The mean of all traced journeys by call path. A frame is as wide as its time; below it are the calls that it "
        "waited for, and the rest of its width is its own time."
    )
    return view.mark_tables([Figures(charts, key, text, wide=True), Fold("Every call path", [_mean_table(traces)])])


def difference_flame(view: View, left: str, right: str) -> list[Element]:
    """Shows the difference between two mean traces; empty if the run did not record call paths."""
    if not all(_trace_of(view, name) for name in (left, right)):
        return []
    paths = {name: _paths(view, name) for name in (left, right)}
    rows = frame_differences(paths, load_of(view.run), blocks_of(view.run), view.run.first_stage)
    frames = _color_by_difference(rows, left, right)
    chart = _draw(
        f"{left} minus {right}, by call path",
        f"Differences between the mean traces of {left} and {right} by call path; figures in the table.",
        frames,
        _whole({frame.path: frame.ms for frame in frames}),
    )
    key = [
        ("fill more", f"{left} takes longer"),
        ("fill less", f"{right} takes longer"),
        ("fill even", "the interval includes zero, or is not known"),
    ]
    text = (
        "A frame is as wide as the mean of both. Components that forward requests (edge, gateways, sidecars) have only "
        "their own time here: the calls that they make move up to their caller."
    )
    return [Figures([chart], key, text, wide=True), Fold("By call path", [_difference_table(rows, left, right)])]


def _paths(view: View, topology: str) -> pl.DataFrame:
    return view.run.paths.filter(pl.col("topology") == topology)


def _trace_of(view: View, topology: str) -> dict[str, float]:
    """Gives the mean trace of a topology; empty unless all its trials recorded call paths."""
    frames = mean_trace(_paths(view, topology))
    cell = view.cell(topology, ALL)
    mean_ms = None if cell is None else cell["traced_mean_ms"]
    return frames if mean_ms is not None and math.isclose(_whole(frames), mean_ms, rel_tol=1e-9) else {}


def _whole(frames: Mapping[str, float]) -> float:
    return sum(ms for path, ms in frames.items() if SEPARATOR not in path)


def _color_by_group(frames: Mapping[str, float]) -> list[_Frame]:
    own = dict(frames)
    for path, ms in frames.items():
        if SEPARATOR in path:
            own[path.rpartition(SEPARATOR)[0]] -= ms
    drawn = []
    for path, ms in frames.items():
        part, text = _part(path), numbers.plain(ms)
        title = f"{part}: {text} ms, own time {numbers.plain(own[path])} ms"
        drawn.append(_Frame(path, ms, _labels(part, text), title, f"var(--{part_class(part)})", 0.5))
    return drawn


def _color_by_difference(rows: Sequence[PartDifference], left: str, right: str) -> list[_Frame]:
    largest = max((abs(row["difference_ms"]) for row in rows if excludes_zero(row["ci95"])), default=0.0)
    drawn = []
    for row in rows:
        part, difference = _part(row["part"]), numbers.plain(row["difference_ms"], signed=True)
        ends = numbers.interval(row["ci95"], signed=True)
        fill, opacity = GRID, 1.0
        if excludes_zero(row["ci95"]):
            fill = MORE if row["difference_ms"] > 0 else LESS
            opacity = 0.25 + 0.3 * abs(row["difference_ms"]) / largest
        whole = f"{difference} ({ends})" if ends else difference
        title = f"{part}: {whole} ms; {left} {numbers.plain(row['left_ms'])}, {right} {numbers.plain(row['right_ms'])}"
        mean_ms = (row["left_ms"] + row["right_ms"]) / 2
        drawn.append(_Frame(row["part"], mean_ms, _labels(part, whole, difference), title, fill, opacity))
    return drawn


def _draw(title: str, description: str, frames: Iterable[_Frame], width_ms: float) -> Chart:
    rows = []
    begins: dict[str, float] = {}
    for frame in sorted(frames, key=lambda frame: frame.path):
        above = frame.path.rpartition(SEPARATOR)[0]
        begin = begins[frame.path] = begins.get(above, 0.0)
        end = begins[above] = begin + frame.ms
        px = frame.ms / width_ms * WIDTH
        if px < _MIN_PX:
            continue
        place = {"depth": frame.path.count(SEPARATOR), "begin": begin, "end": end, "label": _fit(frame.labels, px)}
        rows.append({**place, "title": frame.title, "fill": frame.fill, "opacity": frame.opacity})
    x = amount("begin", "ms", scale={"domain": [0, width_ms], "nice": False}, tickCount=6, grid=False)
    fill = {"field": "fill", "type": "nominal", "scale": None, "legend": None}
    opacity = {"field": "opacity", "type": "quantitative", "scale": None, "legend": None}
    title_of = {"field": "title", "type": "nominal"}
    labels = {"x": x, "text": {"field": "label"}}
    boxes: Spec = {"x": x, "x2": {"field": "end"}, "color": fill, "fillOpacity": opacity, "description": title_of}
    spec: Spec = {
        "width": WIDTH,
        "height": {"step": _ROW_PX},
        "encoding": {"y": {"field": "depth", "type": "ordinal", "axis": None, "scale": {"padding": 0}}},
        "layer": [
            layer("rect", boxes, stroke=PAPER, strokeWidth=1, aria=True),
            layer("text", labels, only="datum.label", align="left", baseline="middle", dx=4, fontSize=11, color=INK),
        ],
    }
    return draw(title, description, spec, rows)


def _labels(part: str, *figures: str) -> tuple[str, ...]:
    """Makes labels of a frame, longest first; the shortest label names a call only by its callee."""
    return (*(f"{part} {figure}" for figure in figures), part, part[max(0, part.find("→")) :])


def _fit(labels: Sequence[str], px: float) -> str:
    """Gives the first label that fits into a frame, else the beginning of the last label; empty if too little fits."""
    room = int((px - 8) / _CHARACTER_PX)
    fitting = (label for label in labels if len(label) <= room)
    return next(fitting, f"{labels[-1][: room - 1]}…" if room >= _MIN_CHARACTERS else "")


def _part(path: str) -> str:
    return path.rpartition(SEPARATOR)[2]


def _mean_table(traces: Mapping[str, Mapping[str, float]]) -> Table:
    columns = [Column("call path", numeric=False), *(Column(name, "ms") for name in traces)]
    paths = sorted({path for frames in traces.values() for path in frames})
    rows = [
        [words(path.replace(SEPARATOR, _STEP)), *(number(frames.get(path)) for frames in traces.values())]
        for path in paths
    ]
    return Table("call_paths", "Mean traces by call path, each with all calls below it, ms", columns, rows)


def _difference_table(rows: Iterable[PartDifference], left: str, right: str) -> Table:
    path = Column("call path", numeric=False), lambda row: words(row["part"].replace(SEPARATOR, _STEP))
    caption = f"Difference between the mean traces by call path, {left} minus {right}, ms, with 95 % intervals"
    ordered = sorted(rows, key=lambda row: row["part"])
    return table_of(f"call_path_differences_{left}_{right}", caption, ordered, [path, *difference_columns(left, right)])


def difference_columns(left: str, right: str) -> list[tuple[Column, Callable[[Any], Cell]]]:
    """Makes columns for `table_of`: what a part takes in both topologies, and the difference with its interval."""
    return [
        (Column(left, "ms"), lambda one: number(one["left_ms"])),
        (Column(right, "ms"), lambda one: number(one["right_ms"])),
        (
            Column("difference", "ms", interval=True),
            lambda one: estimate(one["difference_ms"], one["ci95"], signed=True),
        ),
    ]
