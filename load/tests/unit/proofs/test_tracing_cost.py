"""What tracing costs, put together from rounds whose truth is known."""

from __future__ import annotations

import pytest

from experiment.proofs.tracing_cost import Cpu, Round, Run, TracingCost, tracing_cost

SPANS = {"edge": 2.0, "product": 3.0, "client": 3.0}


def run(rate: float, *, product_us: float, main_us: float, lost: int = 0) -> Run:
    """A run of 1,000 requests, in which Jaeger takes 100 µs of each and the product service what is said."""
    requests = 1_000
    cpu = {
        "jaeger": Cpu(0.0, 100e-6 * requests),
        "product": Cpu(main_us * 1e-6 * requests, product_us * 1e-6 * requests, 20e-6 * requests),
    }
    return Run(requests, wall_s=requests / rate, cpu=cpu, spans=8 * requests, lost=lost)


def rounds(count: int, *, kept: float, lost: int = 0) -> list[Round]:
    """Rounds on a machine that gets slower from one to the next; in each, tracing leaves a share of the throughput."""
    return [
        Round(
            untraced=run(1_000 - 50 * number, product_us=300, main_us=250),
            traced=run((1_000 - 50 * number) * kept, product_us=390, main_us=310, lost=lost),
        )
        for number in range(count)
    ]


def product(cost: TracingCost) -> dict[str, object]:
    (row,) = (row for row in cost["components"] if row["component"] == "product")
    return dict(row)


def test_a_component_costs_what_it_takes_more_and_each_of_its_spans_a_share_of_it() -> None:
    row = product(tracing_cost(rounds(6, kept=0.9), SPANS))
    assert row["untraced_us"] == pytest.approx(300)
    assert row["traced_us"] == pytest.approx(390)
    assert row["more_us"] == {"value": pytest.approx(90), "ci95": [pytest.approx(90), pytest.approx(90)]}
    assert row["main_thread_us"] == {"value": pytest.approx(60), "ci95": [pytest.approx(60), pytest.approx(60)]}
    assert row["export_us"] == pytest.approx(20)
    assert (row["spans"], row["span_us"]) == (3.0, pytest.approx(30))


def test_who_makes_no_spans_has_no_cost_of_one() -> None:
    (jaeger,) = (row for row in tracing_cost(rounds(6, kept=0.9), SPANS)["components"] if row["component"] == "jaeger")
    assert (jaeger["untraced_us"], jaeger["more_us"]["value"], jaeger["span_us"]) == (pytest.approx(100), 0.0, None)


def test_the_whole_is_the_sum_of_the_components() -> None:
    whole = tracing_cost(rounds(6, kept=0.9), SPANS)["all"]
    assert whole["traced_us"] == pytest.approx(490)
    assert whole["more_us"]["value"] == pytest.approx(90)
    assert (whole["spans"], whole["span_us"]) == (8.0, pytest.approx(90 / 8))


def test_rounds_are_compared_within_themselves() -> None:
    ratio = tracing_cost(rounds(6, kept=0.9), SPANS)["throughput"]["ratio"]
    assert ratio == {"value": pytest.approx(0.9), "ci95": [pytest.approx(0.9), pytest.approx(0.9)]}


def test_too_few_rounds_have_no_interval() -> None:
    assert tracing_cost(rounds(5, kept=0.9), SPANS)["throughput"]["ratio"]["ci95"] == [None, None]


@pytest.mark.parametrize(
    ("kept", "lost", "holds"), [(0.86, 0, True), (0.84, 0, False), (0.99, 1, False)], ids=["enough", "too slow", "lost"]
)
def test_it_holds_if_enough_throughput_is_left_and_no_span_is_lost(kept: float, lost: int, holds: bool) -> None:
    cost = tracing_cost(rounds(6, kept=kept, lost=lost), SPANS)
    assert cost["holds"] is holds
    assert cost["spans_lost"] == 6 * lost
