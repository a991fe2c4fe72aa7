"""Counts the spans of a trial, and computes what each kind of span cost the thread that made it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiment.generator.figures import by_node
from experiment.trial.resources import CLIENT
from hops.run.documents.tracing import TracingRecord
from hops.traces.span import Span

Spans = dict[str, dict[str, dict[str, float]]]
"""Mean number of spans per journey, by kind of journey, component and kind of span."""
Costs = Mapping[str, float]
"""Cost of a span in ns, by kind of span."""


def spans_of(traces: Iterable[tuple[str, Sequence[Span]]]) -> Spans:
    """Counts the spans in traces, each of which comes with the name of its journey."""
    count: Counter[str] = Counter()
    made: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for journey, spans in traces:
        count[journey] += 1
        made[journey].update((span.service, str(span.kind)) for span in spans)
    nested: Spans = {}
    for journey, of_journey in sorted(made.items()):
        for (component, kind), number in sorted(of_journey.items()):
            nested.setdefault(journey, {}).setdefault(component, {})[kind] = round(number / count[journey], 3)
    return nested


def tracing_record(spans: Spans, accounts: Mapping[str, Costs], generator: Mapping[str, Any]) -> TracingRecord:
    """Combines the spans with their costs.

    Args:
        accounts: Costs of spans, by process; a replica's process is named `<component>-<number>`.
    """
    costs = {
        component: _mean([of for process, of in accounts.items() if _is_of(process, component)])
        for component in sorted({name for of_journey in spans.values() for name in of_journey})
    }
    costs[CLIENT] = _mean([node["tracing"]["cost_ns"] for node in by_node(generator) if "tracing" in node])
    return TracingRecord(spans=spans, cost_ns={component: cost for component, cost in costs.items() if cost})


def _is_of(process: str, component: str) -> bool:
    name, _, number = process.rpartition("-")
    return process == component or (name == component and number.isdigit())


def _mean(costs: Sequence[Costs]) -> dict[str, float]:
    kinds = {kind for cost in costs for kind in cost}
    return {kind: sum(cost.get(kind, 0.0) for cost in costs) / len(costs) for kind in sorted(kinds)}
