"""A sweep or a stress test in a terminal: tables, and the curve of latency over load in plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from experiment.capacity.document import Document, suspect_reasons
from experiment.capacity.step import Step
from hops.elements.numbers import NOTHING
from hops.terminal.tables import table_titled

LIMITS = {
    "shop": "the shop",
    "generator": "THE GENERATOR",
    "max_rate": "max=",
    "unknown": "not found",
}
CURVE_CELLS = 44
#: Left end of the curve's logarithmic scale, ms.
CURVE_FROM_MS = 1.0


def capacity_view(document: Document) -> Group:
    """Everything that a run shows: results, steps, curve."""
    parts: list[RenderableType] = []
    if document["kind"] == "sweep":
        parts.append(results_table(document))
    for topology in topologies(document):
        parts += [steps_table(document, topology), curve(document, topology), Text()]
    parts.append(verdicts(document))
    return Group(*parts)


def topologies(document: Document) -> list[str]:
    """The topologies with steps or a result, in the order in which they ran."""
    names = [step["topology"] for step in document["steps"]]
    return list(dict.fromkeys([*names, *document["results"]]))


def by_load(document: Document, topology: str) -> list[Step]:
    """A topology's steps by rising load, those of one load in their order."""
    steps = [step for step in document["steps"] if step["topology"] == topology]
    return sorted(steps, key=lambda step: (load_of(step), step["number"]))


def load_of(step: Step) -> float:
    """The rate or the users of a step."""
    return step["rate"] if step["rate"] is not None else float(step["users"] or 0)


def confirmed(document: Document, topology: str) -> Step | None:
    """The step that confirmed a topology's rate; None if none did."""
    result = document["results"].get(topology)
    if result is None or result["rate"] is None:
        return None
    steps = [step for step in by_load(document, topology) if step["phase"] == "confirm" and step["holds"]]
    return next((step for step in steps if step["rate"] == result["rate"]), None)


def results_table(document: Document) -> RenderableType:
    """The highest confirmed rate of each topology, and what stood above it."""
    table = table_titled(
        f"Highest rate held with p99 under {document['options']['objective_ms']:g} ms and failures under 0.1 %"
    )
    table.add_column("topology", no_wrap=True)
    for name in ("journeys/s", "p50 ms", "p99 ms (95 %)", "fails at", "CPU: shop", "generator"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("limit", no_wrap=True)
    for topology in topologies(document):
        result, step = document["results"].get(topology), confirmed(document, topology)
        if result is None or step is None:
            table.add_row(topology, "none confirmed", *[NOTHING] * 6)
            continue
        at_least = "" if result["limit"] == "shop" else "at least "
        table.add_row(
            topology,
            f"{at_least}{result['rate']:g}",
            milliseconds(step["p50_ms"]),
            with_interval(step),
            NOTHING if result["failed"] is None else f"{result['failed']:g}",
            f"{step['system_cores']:.2f}",
            f"{step['generator_cores']:.2f}",
            LIMITS[result["limit"]],
        )
    return table


def steps_table(document: Document, topology: str) -> RenderableType:
    """Every step of a topology, by rising load."""
    closed = document["kind"] == "stress"
    think = document["options"].get("think_s")
    title = f"{topology}: closed loop, think time {think:g} s" if closed else f"{topology}: open loop"
    table = table_titled(f"{title}; latencies in ms, CPU in cores")
    table.add_column("users" if closed else "rate", justify="right", no_wrap=True)
    if not closed:
        table.add_column("step", no_wrap=True)
    for name in ("sent", "ok/s", "p50", "p99 (95 %)"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("client", "server", "timeout", "wrong") if closed else ("failed",):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("CPU: shop", justify="right", no_wrap=True)
    table.add_column("generator", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for step in by_load(document, topology):
        errors = list(step["errors"].values())
        table.add_row(
            f"{load_of(step):g}",
            *([] if closed else [step["phase"]]),
            str(step["journeys_sent"]),
            f"{step['throughput_per_s']:.1f}",
            milliseconds(step["p50_ms"]),
            with_interval(step),
            *([str(count) for count in errors] if closed else [str(sum(errors))]),
            f"{step['system_cores']:.2f}",
            f"{step['generator_cores']:.2f}",
            mark(step),
        )
    return table


def curve(document: Document, topology: str) -> Text:
    """p99 over the load, a line for each step, on a logarithmic scale."""
    steps = by_load(document, topology)
    objective = document["options"].get("objective_ms")
    ends = [*(step["p99_ms"] or 0.0 for step in steps), objective or 0.0]
    top = max(10.0 ** math.ceil(math.log10(max(*ends, 10.0))), 10.0)
    lines = [f"p99 over the {'users' if objective is None else 'rate'}, {CURVE_FROM_MS:g} to {top:g} ms, logarithmic"]
    if objective is not None:
        lines[0] += f"; | is the objective, {objective:g} ms"
    for step in steps:
        bar = _bar(step["p99_ms"], top, objective)
        lines.append(f"{load_of(step):>7g}  {bar}  {milliseconds(step['p99_ms']):>6}  {mark(step)}".rstrip())
    return Text("\n".join(lines))


def mark(step: Step) -> str:
    """Whether a step held, and whether the generator was at its limit."""
    verdict = {True: "holds", False: "misses", None: ""}[step["holds"]]
    return ", ".join(part for part in (verdict, "GENERATOR" if step["generator_limits"] else "") if part)


def verdicts(document: Document) -> Text:
    """VALID or SUSPECT with reasons, a line for each topology."""
    lines = []
    for topology in topologies(document):
        reasons = suspect_reasons(document, topology)
        lines.append(f"{topology}: " + (f"SUSPECT: {'; '.join(reasons)}" if reasons else "VALID"))
    limited = [step for step in document["steps"] if step["generator_limits"]]
    if limited:
        gates = sorted({gate for step in limited for gate in step["generator_limits"]})
        lines.append(
            f"GENERATOR: in {len(limited)} steps it could not keep up ({', '.join(gates)}); see docs/capacity.md."
        )
    return Text("\n".join(lines))


def milliseconds(value: float | None) -> str:
    """A latency with three digits that count."""
    if value is None:
        return NOTHING
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def with_interval(step: Step) -> str:
    """p99 and its interval; an end that too few journeys leave open is a question mark."""
    if step["p99_ms"] is None:
        return NOTHING
    low, high = ("?" if value is None else milliseconds(value) for value in (step["p99_low_ms"], step["p99_high_ms"]))
    return f"{milliseconds(step['p99_ms'])} ({low}..{high})"


def _bar(value: float | None, top: float, objective: float | None) -> str:
    cells: Sequence[str] = [" "] * CURVE_CELLS
    filled = 0 if value is None else _cell(value, top) + 1
    drawn = ["█" if at < filled else cell for at, cell in enumerate(cells)]
    if objective is not None:
        drawn[_cell(objective, top)] = "|"
    return "".join(drawn)


def _cell(value: float, top: float) -> int:
    share = math.log10(max(value, CURVE_FROM_MS) / CURVE_FROM_MS) / math.log10(top / CURVE_FROM_MS)
    return min(CURVE_CELLS - 1, int(share * CURVE_CELLS))
