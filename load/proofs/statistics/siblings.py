"""Measures the time that a rule for overlapping siblings puts into wrong parts, on traces with a known budget."""

from __future__ import annotations

import math
from typing import TypedDict

import numpy as np

from hops.budget.parts import part_of
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table
from hops.traces.critical_path import AHEAD_PERCENT, walk
from hops.traces.tree import Node, grow
from proofs.outcome import Progress, conclude
from proofs.statistics.cells import show_percent
from synthetic.waits import CAUSES, KnownTrace, known_trace

RULES = (0, 5, 10, 15, 20, 30, 40, 50)
"""The rules: the maximum share of a call that may still be ahead, in percent. One of them is the rule in use."""
MIN_GAIN = 0.005
"""Minimum gain that justifies a change of the rule, as a share of a trace's time."""
_Z95 = 1.96


class RuleErrors(TypedDict):
    """Errors of a rule: shares of a trace's time in the wrong part, 0 to 1, mean over traces.

    `all` is the mean over causes. `more` is `all` minus the value of the rule in use, and `more_ci95` its 95 % interval
    from the differences of each trace.
    """

    ahead_percent: int
    by_cause: dict[str, float]
    all: float
    more: float
    more_ci95: list[float]


class SiblingsProof(TypedDict):
    """All rules; the proof holds if no rule is significantly better than the rule in use by `MIN_GAIN`."""

    holds: bool
    traces: int
    seed: int
    used_percent: int
    rules: list[RuleErrors]


def prove_siblings(traces: int, seed: int, progress: Progress = lambda _: None) -> SiblingsProof:
    """Compare rules for overlapping sibling spans on traces whose waits are known.

    Fails if a rule is significantly better than the rule that hop budgets use.
    """
    errors = np.zeros((len(RULES), len(CAUSES), traces))
    for row, cause in enumerate(CAUSES):
        for number in range(traces):
            known = known_trace(cause, seed, number)
            root = grow(known.spans).root
            assert root is not None
            errors[:, row, number] = [_error(known, root, rule) for rule in RULES]
            progress(row * traces + number + 1)
    by_trace = errors.mean(axis=1)
    more = by_trace - by_trace[RULES.index(AHEAD_PERCENT)]
    rules = []
    for index, rule in enumerate(RULES):
        mean = float(more[index].mean())
        half = _Z95 * float(more[index].std()) / math.sqrt(traces)
        rules.append(
            RuleErrors(
                ahead_percent=rule,
                by_cause=dict(zip(CAUSES, errors[index].mean(axis=1).tolist(), strict=True)),
                all=float(by_trace[index].mean()),
                more=mean,
                more_ci95=[mean - half, mean + half],
            )
        )
    holds = all(rule["more_ci95"][1] > -MIN_GAIN for rule in rules)
    return SiblingsProof(holds=holds, traces=traces, seed=seed, used_percent=AHEAD_PERCENT, rules=rules)


def _error(known: KnownTrace, root: Node, ahead_percent: int) -> float:
    wrong = dict(known.budget)
    for node, start_ns, end_ns in walk(root, ahead_percent):
        part = part_of(node)
        wrong[part] = wrong.get(part, 0) - (end_ns - start_ns)
    # Excess time of one part is missing in another.
    return sum(map(abs, wrong.values())) / 2 / (root.end_ns - root.start_ns)


def siblings_view(proof: SiblingsProof) -> list[Element]:
    def show_more(rule: RuleErrors) -> Cell:
        used = rule["ahead_percent"] == proof["used_percent"]
        return Cell("used") if used else show_percent(rule["more"], rule["more_ci95"], signed=True)

    columns = [Column("still ahead"), *(Column(cause, spare=1) for cause in CAUSES), Column("all")]
    rows = [
        [
            Cell(f"{rule['ahead_percent']} %"),
            *(Cell(numbers.share(share)) for share in (*(rule["by_cause"][cause] for cause in CAUSES), rule["all"])),
            show_more(rule),
        ]
        for rule in proof["rules"]
    ]
    columns.append(Column("more than used", "points", interval=True))
    return [
        Table("siblings", f"Time in the wrong part, {proof['traces']:,} traces of each cause", columns, rows),
        Text(
            "A sibling that is still running counts as finished if at most this share of it lies ahead. Points are "
            "percentage points, with 95 % intervals."
        ),
        conclude(
            proof["holds"],
            "No rule is better than the rule in use by half a percent of the time, beyond chance.",
            "A rule is better than the rule in use by half a percent of the time, beyond chance.",
        ),
    ]
