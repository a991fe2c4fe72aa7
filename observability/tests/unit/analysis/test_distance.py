"""How distance affects medians, in runs whose own times, round trips and bytes are known."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import polars as pl
import pytest

from hops.analysis.break_even import break_evens
from hops.analysis.distance import at_channels, at_networks, distance_of
from hops.analysis.travel import travel_of
from hops.kinds import analyse
from hops.run.network import CHANNELS, NAMED, Network
from hops.statistics.curve_crossings import Gap
from synthetic.experiment import Noise

CALM = Noise(sigma=0.1, correlation=0.0, block=0.01, trial=0.01)
"""Noise with little scatter, so that a few hundred journeys are enough to distinguish medians."""


@pytest.fixture(scope="module")
def run(make_run):
    # The hybrid shop takes 12 ms longer for each journey, and needs one round trip where rest needs two.
    delays = {"hybrid": {"work:product": 12.0, "work:order": 12.0}}
    return make_run(topologies=["rest", "hybrid"], blocks=5, journeys_per_trial=600, noise=CALM, delays_ms=delays)


def pair(summary, journey):
    (row,) = summary["distance"]["journeys"][journey]["pairs"]
    return row


def medians(summary, journey):
    return {name: one["journeys"][journey]["latency_ms"]["p50"] for name, one in summary["topologies"].items()}


def test_a_break_even_is_the_own_time_that_a_saved_round_trip_makes_up_for(summary):
    row, p50 = pair(summary, "order_history"), medians(summary, "order_history")
    assert (row["left"], row["right"]) == ("hybrid", "rest")
    assert (row["verdict"], row["sooner"]) == ("from", "hybrid")
    assert row["at_ms"] == pytest.approx(p50["hybrid"] - p50["rest"], abs=1e-3)
    low, high = row["ci95_ms"]
    assert low < row["at_ms"] < high
    assert row["stretches"] == [
        {"sooner": "rest", "from_ms": 0.0, "to_ms": low},
        {"sooner": "hybrid", "from_ms": high, "to_ms": 200.0},
    ]


def test_equal_round_trips_leave_the_order_as_it_is(summary):
    row = pair(summary, "product")
    assert (row["left"], row["right"]) == ("rest", "hybrid")
    assert (row["verdict"], row["sooner"], row["at_ms"]) == ("always", "rest", None)


def test_the_order_of_the_user_does_not_make_a_never_of_equal_round_trips(run, summary):
    row = pair({"distance": distance_of(run, dict(reversed(summary["topologies"].items())))}, "product")
    assert (row["left"], row["right"]) == ("hybrid", "rest")
    assert (row["verdict"], row["sooner"]) == ("always", "rest")


def test_fewer_round_trips_may_never_be_enough(run, summary):
    later = pl.when(pl.col("topology") == "hybrid").then(pl.col("latency_ns") + 400_000_000).otherwise("latency_ns")
    slow = run.journeys.with_columns(latency_ns=later)
    row = pair({"distance": distance_of(replace(run, journeys=slow), summary["topologies"])}, "order_history")
    assert (row["left"], row["verdict"], row["sooner"]) == ("hybrid", "never", "rest")


def test_an_order_over_the_whole_range_needs_both_corrected_tests():
    grid = np.array([0.0, 100.0, 200.0])
    less = Gap(np.full(3, -2.0), np.full(3, -3.0), np.full(3, -1.0), np.array([0.03, 1e-3, 1e-6]))
    round_trips = {"hybrid": 1.0, "rest": 2.0}
    journeys = ("product", "browse")
    rows = break_evens(
        {(name, "hybrid", "rest"): less for name in journeys}, dict.fromkeys(journeys, round_trips), grid
    )
    for (row,) in rows.values():
        assert row["p_corrected"][0] == pytest.approx(0.06)
        assert (row["verdict"], row["sooner"], row["ci95_ms"]) == ("beyond", "hybrid", [None, 200.0])
    (alone,) = break_evens({("product", "hybrid", "rest"): less}, {"product": round_trips}, grid)["product"]
    assert alone["verdict"] == "always"


def test_the_same_rows_twice_show_nothing(run, summary):
    rest = run.journeys.filter(pl.col("topology") == "rest")
    rng = np.random.default_rng(7)
    jitter = pl.Series(rng.normal(0, 200_000, rest.height).astype(np.int64))
    other = rest.with_columns(pl.lit("hybrid").alias("topology"), (pl.col("latency_ns") + jitter).alias("latency_ns"))
    alike = replace(run, journeys=pl.concat([rest, other]))
    row = pair({"distance": distance_of(alike, summary["topologies"])}, "order_history")
    assert (row["verdict"], row["sooner"], row["stretches"]) == ("not_shown", None, [])


def test_curves_begin_at_what_was_measured_and_rise_with_the_round_trips(summary):
    cell = summary["distance"]["journeys"]["order_history"]
    assert cell["round_trips"] == {"rest": 2.0, "hybrid": 1.0}
    for name, trips in cell["round_trips"].items():
        (measured,) = cell["measured"][name]
        assert (measured["rtt_ms"], measured["value"]) == (0.0, medians(summary, "order_history")[name])
        assert cell["curves"][name][0] == pytest.approx(measured["value"], abs=1e-3)
        assert cell["curves_ci95"][name][0] == pytest.approx(measured["ci95"], abs=1e-3)
        assert cell["curves"][name][-1] - cell["curves"][name][0] == pytest.approx(200 * trips, abs=2e-3)


def test_a_named_network_adds_its_round_trips_and_its_bytes(summary):
    distance = summary["distance"]
    cell, network = distance["journeys"]["order_history"], NAMED["3g"]
    place = distance["named"]["3g"]
    for name in ("rest", "hybrid"):
        sent = cell["bytes"][name]
        bits_ms = 8 * (sent["down"] / network.down_mbit / 1e3 + sent["up"] / network.up_mbit / 1e3)
        expected = cell["own_ms"][name]["value"] + cell["round_trips"][name] * network.rtt_ms + bits_ms
        assert place["p50_ms"]["order_history"][name]["value"] == pytest.approx(expected)
    assert place["fastest"]["order_history"] == ["hybrid"]
    assert distance["named"]["loopback"]["fastest"]["order_history"] == ["rest"]
    assert place["network"] == {"name": "3g", "rtt_ms": 150.0, "down_mbit": 1.6, "up_mbit": 0.768}


def test_the_time_of_the_runs_network_is_subtracted(run, summary):
    travel = {name: travel_of(run, name) for name in ("rest", "hybrid")}

    def carry(name, frame):
        ms = 30 * frame["round_trips"] + 8 * frame["down"] / 10e3 + 8 * frame["up"] / 5e3
        rows = run.journeys.filter(pl.col("topology") == name)
        return rows.with_columns(latency_ns=pl.col("latency_ns") + pl.Series(1e6 * ms).cast(pl.Int64))

    far = pl.concat(carry(name, frame) for name, frame in travel.items())
    there = {"network": "loopback", "rtt_ms": 30.0, "bandwidth": "10mbit/5mbit"}
    manifest = run.manifest | {"switches": run.manifest["switches"] | {"networks": dict.fromkeys(CHANNELS, there)}}
    distance = analyse(replace(run, journeys=far, manifest=manifest), name="far")["distance"]
    for name, own in summary["distance"]["journeys"]["order_history"]["own_ms"].items():
        cell = distance["journeys"]["order_history"]
        assert cell["own_ms"][name]["value"] == pytest.approx(own["value"], abs=1e-3)
        curve = dict(zip(distance["grid_ms"], cell["curves"][name], strict=True))
        (measured,) = cell["measured"][name]
        assert (measured["rtt_ms"], measured["value"]) == (30.0, pytest.approx(curve[30.0], abs=1e-3))
    assert pair({"distance": distance}, "order_history")["verdict"] == "from"
    assert distance["channels"] == {}
    manifest["switches"]["networks"]["partner"] = there | {"rtt_ms": 1.0}
    distance = distance_of(replace(run, manifest=manifest), summary["topologies"])
    assert set(distance["channels"]) == {"all", *CHANNELS}
    assert distance["channels"]["partner"]["network"]["rtt_ms"] == 1.0


def test_each_channel_has_its_own_network(run):
    travel = {name: travel_of(run, name) for name in ("rest", "hybrid")}
    places = at_channels(travel, {"web": NAMED["wifi"], "mobile": NAMED["4g"]})
    web, everybody = at_networks(travel, {"web": NAMED["wifi"]})["web"], places["all"]
    assert places["web"]["p50_ms"]["browse"] == web["p50_ms"]["browse"]
    assert places["web"]["network"]["name"] == "wifi"
    assert "product" not in places["web"]["p50_ms"]
    assert everybody["network"] is None
    assert everybody["p50_ms"]["product"]["rest"]["value"] == pytest.approx(
        places["mobile"]["p50_ms"]["product"]["rest"]["value"]
    )
    assert "order_status" not in everybody["p50_ms"]
    assert at_channels(travel, {}) == {}
    assert at_channels(travel, {"fax": Network(rtt_ms=1000.0)}) == {}


def test_round_trips_to_open_a_connection_count_as_any_other(run, summary):
    opened = replace(run, journeys=run.journeys.with_columns(pl.lit(2).alias("opening_round_trips")))
    first = distance_of(opened, summary["topologies"])["journeys"]["order_history"]
    assert first["round_trips"] == {"rest": 4.0, "hybrid": 3.0}


def test_without_a_sample_the_bodies_stand_for_the_bytes(run, tmp_path):
    rows = travel_of(replace(run, path=tmp_path), "rest")
    bodies = run.journeys.filter((pl.col("topology") == "rest") & (pl.col("outcome") == "ok"))
    assert rows["down"].to_list() == [
        journey["bytes_in"] + 40 * max(1, ceil(journey["bytes_in"] / journey["requests"] / 1460)) * journey["requests"]
        for journey in bodies.iter_rows(named=True)
    ]


@pytest.mark.parametrize(
    ("requests", "body", "carried"), [(1, 0, 40), (1, 1460, 1500), (2, 1460, 1540), (1, 1461, 1541), (2, 4000, 4160)]
)
def test_segments_have_headers(run, tmp_path, requests, body, carried):
    sent = run.journeys.with_columns(pl.lit(requests).alias("requests"), pl.lit(body).alias("bytes_out"))
    rows = travel_of(replace(run, path=tmp_path, journeys=sent), "rest")
    assert set(rows["up"]) == {carried}


def test_two_blocks_give_figures_and_no_verdict(make_run):
    summary = analyse(make_run(topologies=["rest", "hybrid"], blocks=2, journeys_per_trial=200), name="short")
    row = pair(summary, "order_history")
    assert (row["verdict"], row["reason"]) == ("unknown", "needs 3 blocks, and there are 2")
    assert row["ci95_ms"] == [None, None]
    assert summary["distance"]["named"]["4g"]["fastest"] == {}
    assert summary["distance"]["journeys"]["all"]["curves_ci95"]["rest"][0] == [None, None]


def test_one_topology_has_curves_and_no_pairs(make_run):
    distance = analyse(make_run(topologies=["rest"], blocks=1, journeys_per_trial=200), name="bench")["distance"]
    assert distance["journeys"]["all"]["pairs"] == []
    assert len(distance["journeys"]["all"]["curves"]["rest"]) == len(distance["grid_ms"])
