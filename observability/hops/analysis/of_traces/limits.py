"""Limits on times by operation and part, read from a YAML file and checked.

A limit is broken only if the whole interval of its figure is above it. The intervals of all limits in a file hold
simultaneously in 95 % of cases (Bonferroni's inequality). So having many limits does not make it more likely that a
limit is broken by chance.

A baseline recorded in the same states of the machine takes them into account. With a baseline, a limit is broken only
if the figure is also shown to be above the baseline's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hops.analysis.of_traces.timelines import FIGURES, TOTAL, Timeline
from hops.budget.parts import UNATTRIBUTED
from hops.errors import InputError
from hops.statistics.correction import SIGNIFICANCE
from hops.statistics.in_time import difference, interval_of
from hops.statistics.intervals import Interval
from hops.units import NS_PER_MS, NS_PER_UNIT
from user_files.words import describe, valid

State = Literal["holds", "in doubt", "broken", "cannot tell"]
_TIME = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[nuµm]?s)")


@dataclass(frozen=True, slots=True)
class Limit:
    """Upper limit of a figure.

    Attributes:
        part: Part of its critical path, or `total`; `unattributed` may be missing from the traces.
        places: File and line of each of these names, for messages.
    """

    operation: str
    part: str
    figure: str
    ms: float
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of checking a limit.

    Attributes:
        ci95: Its interval; the intervals of all limits hold simultaneously in 95 % of cases.
        reason: Why there is no interval, or why the baseline shows nothing; None if the state is known.
        slower: Whether the figure is shown to be above the baseline's; None without a baseline that can show it.
    """

    limit: Limit
    traces: int
    measured_ms: float
    ci95: Interval
    reason: str | None
    baseline_ms: float | None = None
    slower: bool | None = None

    @property
    def state(self) -> State:
        """`broken` only if the whole interval is above the limit; `in doubt` if the limit is inside the interval."""
        low, high = self.ci95
        if low is None or high is None:
            return "cannot tell"
        if high <= self.limit.ms:
            return "holds"
        if low <= self.limit.ms or self.slower is False:
            return "in doubt"
        return "broken" if self.slower or self.baseline_ms is None else "cannot tell"

    def as_document(self) -> dict[str, Any]:
        """Converts the result to plain values for programs."""
        return {**asdict(self), "state": self.state}


def read_limits(path: Path) -> list[Limit]:
    """Reads limits by operation, part (or `total`) and figure; raises `InputError`, which names the line."""
    from user_files.yaml_file import YamlFile

    file = YamlFile.read(path, InputError)
    if file.data is None:
        raise file.wrong("is empty; give operations with their limits, such as checkout: {total: {p99: 200 ms}}")
    limits, problems = [], []
    for operation in file.entries("operations and their limits"):
        for part in file.entries("parts and their limits, such as total: {p99: 200 ms}", operation):
            for figure, time in file.entries("figures and times, such as p99: 200 ms", operation, part).items():
                places = ((operation,), (operation, part), (operation, part, figure))
                limit = _ms(time)
                if figure not in FIGURES:
                    problems.append((places[-1], f"is not a figure; {valid(figure, FIGURES)}"))
                elif limit is None:
                    text = f"{describe(time)} is not a time; give a number with ns, us, ms or s, such as 2 ms"
                    problems.append((places[-1], text))
                else:
                    lines = tuple(f"{path}:{file.line_of(place)}" for place in places)
                    limits.append(Limit(operation, part.replace("->", "→"), figure, limit, lines))
    if problems:
        raise file.all_wrong(problems)
    if not limits:
        raise file.wrong("has no limits; give operations with limits, such as checkout: {total: {p99: 200 ms}}")
    return limits


def check(
    limits: Sequence[Limit], timelines: Mapping[str, Timeline], baseline: Mapping[str, Timeline] | None = None
) -> list[Checked]:
    """Checks every limit.

    Args:
        baseline: Measured times of a system that is as fast as it should be; None without a baseline.

    Raises:
        InputError: A limit names an operation, part or figure that does not exist; the message names the line and the
            choices.
    """
    sets = [timelines] if baseline is None else [timelines, baseline]
    mistakes = dict.fromkeys(mistake for each in sets for limit in limits if (mistake := _mistake(limit, each)))
    if mistakes:
        raise InputError("\n".join(mistakes))
    confidence = 1 - SIGNIFICANCE / max(1, len(limits))
    checked = []
    for limit in limits:
        timeline = timelines[limit.operation]
        section = timeline.figure(limit.part, limit.figure)
        assert section.value is not None
        interval = interval_of(section, confidence=confidence)
        row = Checked(limit, timeline.total_ms.size, section.value, interval, section.reason)
        if baseline is not None:
            before = baseline[limit.operation].figure(limit.part, limit.figure)
            more, _, p = difference(before, section)
            slower = None if p is None else more > 0 and p < 1 - confidence
            row = replace(row, baseline_ms=before.value, slower=slower)
            if row.state == "cannot tell" and row.reason is None:
                row = replace(row, reason=f"the baseline {before.reason}")
        checked.append(row)
    return checked


def _ms(time: object) -> float | None:
    match = _TIME.fullmatch(time.strip()) if isinstance(time, str) else None
    return float(match["number"]) * NS_PER_UNIT[match["unit"]] / NS_PER_MS if match else None


def _mistake(limit: Limit, timelines: Mapping[str, Timeline]) -> str:
    """Describes the first name of a limit that the traces do not have; empty if they have all its names."""
    operation, part = limit.operation, limit.part
    if operation not in timelines:
        return (
            f"{limit.places[0]}: {describe(operation)} is not an operation in the traces; {valid(operation, timelines)}"
        )
    parts = dict.fromkeys((TOTAL, *timelines[operation].parts_ms, UNATTRIBUTED))
    if part not in parts:
        return f"{limit.places[1]}: {describe(part)} is not a part of {operation}; {valid(part, parts)}"
    return ""
