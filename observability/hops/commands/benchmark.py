"""`python -m hops benchmark`: how many traces a second become budgets on one core."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from hops.budget.budget import budgets_of
from hops.commands.budget import AsJson
from hops.synthetic.traces import shop_trace

TARGET_TRACES_PER_S = 5000


@dataclass(frozen=True, slots=True)
class Throughput:
    """What a benchmark run found.

    Args:
        traces: handled in the best round.
        spans: in each of them.
        rounds: of which the best counts, as anything else on the machine only slows.
        traces_per_s: traces from spans to budget, a CPU second.
        gap_ns: budgets' distance from adding up, all together; 0.
    """

    traces: int
    spans: int
    rounds: int
    traces_per_s: float
    gap_ns: int


def measure(traces: int = 2000, spans: int = 30, rounds: int = 5) -> Throughput:
    """Times `budgets_of` over made-up traces.

    Args:
        traces: how many, a round.
        spans: in each of them.
        rounds: how often.
    """
    made = [shop_trace(seed, spans) for seed in range(traces)]
    best_s = float("inf")
    gap_ns = 0
    for _ in range(rounds):
        # CPU time of this process: on a shared machine the wall clock measures the neighbours.
        began = time.process_time()
        budgets, _quality = budgets_of(made)
        best_s = min(best_s, time.process_time() - began)
        gap_ns = sum(budget.gap_ns for budget in budgets)
    return Throughput(traces, spans, rounds, traces / best_s, gap_ns)


def benchmark(
    traces: Annotated[int, typer.Option(min=1, help="Traces a round.")] = 2000,
    spans: Annotated[int, typer.Option(min=6, help="Spans in each trace.")] = 30,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, of which the best counts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure traces a second from spans to budget, on one core; fails below the target."""
    found = measure(traces, spans, rounds)
    if as_json:
        print(json.dumps({**asdict(found), "target_traces_per_s": TARGET_TRACES_PER_S}))
    else:
        print(
            f"{found.traces_per_s:,.0f} traces of {found.spans} spans a second on one core "
            f"(best of {found.rounds} rounds of {found.traces:,}; at least {TARGET_TRACES_PER_S:,} wanted); "
            f"budgets are {found.gap_ns} ns from adding up"
        )
    if found.gap_ns or (spans <= 30 and found.traces_per_s < TARGET_TRACES_PER_S):
        raise typer.Exit(1)
