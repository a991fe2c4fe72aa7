"""Where tracing adds time, in made-up runs in which the added times are known."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from hops.analysis.observer import observer_effect_of
from hops.tables.observer import observer_tables
from hops.tables.view import SummaryView

CLIENT_NS, EDGE_NS, BEHIND_NS = 100_000, 50_000, 1_000_000
"""Time that tracing adds to a traced journey, ns."""
SPANS = {"client": {"INTERNAL": 2.0, "CLIENT": 1.0}, "edge": {"SERVER": 1.0, "CLIENT": 1.0}, "product": {"SERVER": 1.0}}
COST_NS = {"client": {"INTERNAL": 1_000.0, "CLIENT": 2_000.0}, "product": {"SERVER": 30_000.0}}


@pytest.fixture(scope="module")
def run(make_run):
    """Four blocks of two topologies; each request is 0.5 ms at the client, 0.2 ms in the edge, the rest behind it."""
    run = make_run(topologies=["hybrid", "rest"], blocks=4, journeys_per_trial=500, traced=0.5)
    traced = pl.col("sampled").cast(pl.Int64)
    journeys = run.journeys.with_columns(latency_ns=pl.col("latency_ns") + traced * (CLIENT_NS + EDGE_NS + BEHIND_NS))
    journeys = journeys.with_columns(edge_ns=pl.col("latency_ns") - 500_000 - traced * CLIENT_NS)
    journeys = journeys.with_columns(behind_edge_ns=pl.col("edge_ns") - 200_000 - traced * EDGE_NS)
    names = journeys["journey"].unique().to_list()
    tracing = {"spans": dict.fromkeys(names, SPANS), "cost_ns": COST_NS}
    return dataclasses.replace(run, journeys=journeys, trials=[{**row, "tracing": tracing} for row in run.trials])


def test_what_is_added_is_found_where_it_is_added(run):
    places = {row["place"]: row for row in observer_effect_of(run)["topologies"]["rest"]["places"]}
    assert places["client"]["p50"] == pytest.approx(CLIENT_NS / 1e6)
    assert places["client"]["ci95"] == pytest.approx([CLIENT_NS / 1e6] * 2)
    assert places["edge"]["p50"] == pytest.approx(EDGE_NS / 1e6)
    low, high = places["behind"]["ci95"]
    assert low < BEHIND_NS / 1e6 < high
    assert places["all"]["p50"] == observer_effect_of(run)["topologies"]["rest"]["p50"]


def test_the_effect_is_a_share_of_the_untraced_median(run):
    row = observer_effect_of(run)["topologies"]["hybrid"]
    assert row["share"] / row["p50"] == pytest.approx(row["share_ci95"][1] / row["ci95"][1])
    assert 0 < row["share"] < 1


def test_the_effect_is_a_share_of_the_journeys_in_which_it_was_measured(run):
    rarely = run.journeys.with_columns(pl.col("sampled") & (pl.col("journey") != "checkout"))
    shares = [
        observer_effect_of(dataclasses.replace(run, journeys=rows))["topologies"]["rest"]["share"]
        for rows in (rarely, rarely.filter(pl.col("journey") != "checkout"))
    ]
    assert shares[0] == pytest.approx(shares[1])


def test_spans_cost_what_their_components_say(run):
    row = observer_effect_of(run)["topologies"]["rest"]
    assert row["components"] == [
        {"component": "client", "spans": pytest.approx(3), "ms": pytest.approx(0.004)},
        {"component": "edge", "spans": pytest.approx(2), "ms": None},
        {"component": "product", "spans": pytest.approx(1), "ms": pytest.approx(0.030)},
    ]
    places = {place["place"]: (place["spans"], place["spans_ms"]) for place in row["places"]}
    assert places == {
        "client": (pytest.approx(3), pytest.approx(0.004)),
        "edge": (pytest.approx(2), None),
        "behind": (pytest.approx(1), pytest.approx(0.030)),
        "all": (pytest.approx(6), None),
    }


def test_a_journey_counts_by_its_share_of_the_load(run):
    rare = run.journeys["journey"].value_counts().sort("count")["journey"][0]
    spans = {
        journey: {"product": {"SERVER": 1.0 if journey == rare else 0.0}}
        for journey in run.journeys["journey"].unique()
    }
    trials = [{**row, "tracing": {"spans": spans, "cost_ns": COST_NS}} for row in run.trials]
    (product,) = observer_effect_of(dataclasses.replace(run, trials=trials))["topologies"]["rest"]["components"]
    of_rest = run.journeys.filter((pl.col("topology") == "rest") & (pl.col("outcome") == "ok"))
    assert product["spans"] == pytest.approx(of_rest.filter(pl.col("journey") == rare).height / of_rest.height)


def test_the_same_rows_give_the_same_figures_to_the_last_digit(run):
    assert len({str(observer_effect_of(run)) for _ in range(4)}) == 1


def test_a_journey_whose_requests_overlap_is_not_split(run):
    parallel = pl.when(pl.col("journey") == "browse").then(2).otherwise(pl.col("parallel")).alias("parallel")
    journeys = observer_effect_of(dataclasses.replace(run, journeys=run.journeys.with_columns(parallel)))
    split = journeys["topologies"]["rest"]["journeys"]
    assert "browse" not in split
    assert split


def test_without_the_edges_log_the_effect_is_not_split(run):
    unlogged = run.journeys.with_columns(edge_ns=pl.lit(None, pl.Int64), behind_edge_ns=pl.lit(None, pl.Int64))
    row = observer_effect_of(dataclasses.replace(run, journeys=unlogged))["topologies"]["rest"]
    assert (row["journeys"], row["places"], row["components"]) == ([], [], [])
    assert row["p50"] is not None


def test_trials_without_accounts_of_their_spans_are_left_out(run):
    trials = [{key: value for key, value in row.items() if key != "tracing"} for row in run.trials]
    row = observer_effect_of(dataclasses.replace(run, trials=trials))["topologies"]["rest"]
    assert row["components"] == []
    assert {(place["spans"], place["spans_ms"]) for place in row["places"]} == {(None, None)}


def test_the_tables_say_where_and_what_is_left_unexplained(summary):
    _, places, spans = observer_tables(SummaryView(summary))
    client = next(row for row in places.rows if [cell.text for cell in row[:2]] == ["rest", "client and wire"])
    assert [cell.text for cell in client[2:]] == ["+0.100", "3.00", "0.004", "+0.096"]
    edge = next(row for row in places.rows if [cell.text for cell in row[:2]] == ["rest", "edge"])
    assert [cell.text for cell in edge[3:]] == ["2.00", "–", "–"]
    product = next(row for row in spans.rows if [cell.text for cell in row[:2]] == ["rest", "product"])
    assert [cell.text for cell in product[2:]] == ["1.00", "30.0", "0.030"]
