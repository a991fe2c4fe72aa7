from __future__ import annotations

from experiment.trial.span_costs import spans_of, tracing_record
from hops.traces.span import Kind, Span


def span(service: str, kind: Kind) -> Span:
    return Span("a" * 32, "b" * 16, "", "name", kind, service, 0, 1)


CALL = [span("edge", Kind.SERVER), span("edge", Kind.CLIENT), span("product", Kind.SERVER)]


def test_spans_are_counted_by_journey_component_and_kind() -> None:
    traces = [("product", CALL), ("product", [*CALL, span("product", Kind.INTERNAL)]), ("login", CALL[:1])]
    assert spans_of(traces) == {
        "login": {"edge": {"SERVER": 1.0}},
        "product": {"edge": {"CLIENT": 1.0, "SERVER": 1.0}, "product": {"INTERNAL": 0.5, "SERVER": 1.0}},
    }


def test_a_components_spans_cost_the_mean_over_its_replicas() -> None:
    accounts = {
        "product": {"SERVER": 10_000.0},
        "product-2": {"SERVER": 20_000.0, "CLIENT": 8_000.0},
        "product-canary": {"SERVER": 90_000.0},
        "user": {"SERVER": 5_000.0},
    }
    generator = {"tracing": {"cost_ns": {"CLIENT": 2_000.0}}}
    assert tracing_record(spans_of([("product", CALL)]), accounts, generator) == {
        "spans": {"product": {"edge": {"CLIENT": 1.0, "SERVER": 1.0}, "product": {"SERVER": 1.0}}},
        "cost_ns": {"client": {"CLIENT": 2_000.0}, "product": {"CLIENT": 4_000.0, "SERVER": 15_000.0}},
    }


def test_several_load_nodes_are_one_client() -> None:
    shards = [{"tracing": {"cost_ns": {"CLIENT": 1_000.0}}}, {"tracing": {"cost_ns": {"CLIENT": 3_000.0}}}]
    assert tracing_record({}, {}, {"shards": shards})["cost_ns"] == {"client": {"CLIENT": 2_000.0}}
