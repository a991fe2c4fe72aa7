"""How many traces a second the path from spans to budgets handles, on one core."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hops.budget import budgets_of
from hops.generated import shop_trace


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
