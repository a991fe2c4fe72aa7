"""Lists, plurals and clauses for sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hops.elements.numbers import figure
from hops.run.documents.estimate import Estimate
from hops.run.documents.gate import VALID, Verdict
from hops.run.documents.summary import ClosedLoop
from hops.run.documents.trial import Program


def negate_interval(ends: Sequence[float | None]) -> list[float | None]:
    """Negates the interval of a difference, which swaps its ends."""
    low, high = ends
    return [None if high is None else -high, None if low is None else -low]


def in_ms(estimate: Estimate) -> str:
    """Formats a figure with its interval: `3.1 ms (2.7 to 3.6)`."""
    return figure(estimate["value"], estimate["ci95"], "ms")


def join_names(names: Sequence[str], last: str = "and") -> str:
    """Joins names: `a`, `a and b`, `a, b and c`; or with another word before the last."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else ""


def plural(count: int, noun: str) -> str:
    """Counts a noun: `1 journey`, `8 journeys`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def not_drawn(spans: int) -> str:
    """Says how many spans a drawing has no room for; empty if it has room for all."""
    if not spans:
        return ""
    whole = plural(spans, "more span")
    return f"{whole} {'is' if spans == 1 else 'are'} not drawn: those with the least time on the path."


def excludes_zero(ends: Sequence[float | None]) -> bool:
    """Whether an interval of a difference is known and excludes zero."""
    low, high = ends
    return low is not None and high is not None and (low > 0 or high < 0)


def mark_lines(verdict: Verdict, lines: Iterable[str]) -> list[str]:
    """Puts the verdict in front of each line, unless the run is VALID."""
    return [line if verdict == VALID else f"{verdict}: {line}" for line in lines]


def programs_text(programs: Iterable[Program]) -> str:
    """Lists programs: `python (pid 12) 0.49 cores and cc1 (pid 34) 0.20 cores`."""
    return join_names([f"{one['name']} (pid {one['pid']}) {one['cores']:.2f} cores" for one in programs])


def sentence(text: str) -> str:
    """Adds a full stop if a text has no final punctuation."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def not_tested(reasons: Iterable[str | None]) -> str:
    """Writes `not tested: needs 3 blocks, and there are 2`: the first of the reasons, and how many others there are."""
    distinct = list(dict.fromkeys(filter(None, reasons)))
    more = f" (and {plural(len(distinct) - 1, 'other reason')})" if len(distinct) > 1 else ""
    return f"not tested: {distinct[0]}{more}" if distinct else "not tested"


def but_untested(rows: Sequence[Mapping[str, Any]]) -> str:
    """Counts untested rows: ` (3 of 8 not tested: needs 3 blocks, and there are 2)`; empty if all were tested."""
    untested = [row["reason"] for row in rows if row["verdict"] == "unknown"]
    return f" ({len(untested):,} of {len(rows):,} {not_tested(untested)})" if untested else ""


def clause(reason: str) -> str:
    """Turns a reason into a clause: `it needs 3 blocks`."""
    return f"it {reason}" if reason.startswith("needs ") else reason


def loop_text(closed: ClosedLoop) -> str:
    """Describes a closed loop: `16 virtual users with a mean think time of 0.1 s`."""
    users, think = plural(closed["vus"], "virtual user"), f"{closed['think_s']:g} s"
    if "fewest" in closed:
        users = f"{closed['fewest']:,} to {users}, by arm,"
    if "shortest_think_s" in closed:
        think = f"{closed['shortest_think_s']:g} to {think}, by arm"
    return f"{users} with a mean think time of {think}"
