"""Traces drawn as trees: the drawing is the fixture, so the two cannot drift apart."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from hops.traces.span import Kind, Span

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
EPOCH_NS = 1_767_225_600_000_000_000

_LINE = re.compile(
    r"(?P<indent>[ |`-]*)(?P<service>[a-z.-]+) (?P<name>\S+) +(?P<kind>[A-Z]+) +"
    r"(?P<start>-?\d+)\.\.(?P<end>-?\d+)(?P<attributes>( +[\w.]+=\S+)*)(?P<orphan> +\(parent lost\))?"
)

Draw = Callable[[str], list[Span]]


def spans_of(drawing: str) -> list[Span]:
    """Reads one span per line: `|- service name KIND start..end key=value`, children two columns to the right."""
    spans: list[Span] = []
    above: list[tuple[int, Span]] = []
    for line in drawing.strip("\n").splitlines():
        found = _LINE.fullmatch(line.rstrip())
        assert found, f"not a drawn span: {line!r}"
        depth = len(found["indent"])
        while above and above[-1][0] >= depth:
            above.pop()
        span_id = f"{len(spans) + 1:016x}"
        span = Span(
            trace_id=TRACE_ID, span_id=span_id,
            parent_id="f" * 16 if found["orphan"] else above[-1][1].span_id if above else "", name=found["name"],
            kind=Kind(found["kind"]), service=found["service"], start_ns=EPOCH_NS + int(found["start"]),
            end_ns=EPOCH_NS + int(found["end"]),
            attributes={name: _value(text) for name, text in map(_pair, found["attributes"].split())},
        )  # fmt: skip
        spans.append(span)
        above.append((depth, span))
    return spans


def _pair(text: str) -> list[str]:
    return text.split("=", 1)


def _value(text: str) -> str | float:
    return float(text) if re.fullmatch(r"\d+\.\d+", text) else text


@pytest.fixture
def draw() -> Draw:
    """Turns a drawing into spans; times are ns since the epoch of the fixture."""
    return spans_of


def _steps_of(work: Callable[[], object]) -> int:
    steps = 0

    def count(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


@pytest.fixture
def steps_of() -> Callable[[Callable[[], object]], int]:
    """Counts the steps of Python that work takes: unlike its time, their number does not depend on the machine."""
    return _steps_of
