"""What an experiment over rates finds if the true values are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from hops.analysis.latencies import Latencies, cells_of
from hops.kinds.rates.analysis import crossings, fillings
from hops.kinds.rates.document import AXIS, Crossing
from hops.run.axis import Arm, shared_places
from hops.run.files import RunFiles
from hops.units import ALL
from proofs.statistics.turns import SLOWER, run_experiment

RATES = [10.0, 20.0, 40.0, 60.0]


def arms(*topologies: str, rates: list[float] = RATES) -> dict[str, list[Arm]]:
    return {name: [Arm(AXIS.label(name, rate), name, f"{rate:g}", rate) for rate in rates] for name in topologies}


def latencies(rng: np.random.Generator, median_ms: float, blocks: int = 5, rows: int = 200) -> Latencies:
    cells = {("browse", at): median_ms * np.exp(rng.normal(rng.normal(0, 0.01), 0.3, rows)) for at in range(blocks)}
    return Latencies(cells_of(cells))


def turn_of(medians: Mapping[str, list[float]], seed: int = 1) -> Crossing:
    """Returns the crossing of two topologies' p50 over all journeys, from these medians at `RATES`."""
    rng = np.random.default_rng(seed)
    found = {
        AXIS.label(name, rate): latencies(rng, median)
        for name, values in medians.items()
        for rate, median in zip(RATES, values, strict=True)
    }
    rows = crossings(arms(*medians), RATES, found, {"browse": 1})
    (row,) = [row for row in rows if (row["journey"], row["metric"]) == (ALL, "p50")]
    return row


def test_the_rate_at_which_two_topologies_cross_is_within_its_interval() -> None:
    # rest: 10 ms + 0.1 ms for each journey a second; grpc: 13 ms at every rate: they cross at 30.
    inside = 0
    for seed in range(20):
        row = turn_of({"rest": [10 + 0.1 * rate for rate in RATES], "grpc": [13.0] * 4}, seed)
        assert (row["verdict"], row["faster"]) == ("from", "grpc")
        low, high = row["ci95"]
        inside += low <= 30 <= high
    assert inside >= 17


def test_a_topology_faster_at_every_rate_never_flips() -> None:
    row = turn_of({"rest": [10.0, 11.0, 14.0, 20.0], "grpc": [15.0, 16.0, 20.0, 30.0]})
    assert (row["verdict"], row["faster"], row["at"]) == ("always", "rest", None)


def test_a_ranking_that_does_not_flip_is_not_reported_to() -> None:
    counts = sum(map(run_experiment, np.random.SeedSequence(1).spawn(40)), Counter[tuple[str, str]]())
    *alike, turning = SLOWER
    assert all(counts[name, "of"] >= 5 and counts[name, "turns"] == 0 for name in alike)
    assert counts[turning, "turns"] >= 0.8 * counts[turning, "of"]


def test_equal_systems_are_not_shown_to_differ() -> None:
    assert turn_of({"rest": [10.0] * 4, "grpc": [10.0] * 4})["verdict"] == "not_shown"


def test_two_blocks_are_too_few() -> None:
    rng = np.random.default_rng(1)
    found = {AXIS.label(name, rate): latencies(rng, 10.0, blocks=2) for name in ("rest", "grpc") for rate in RATES}
    rows = crossings(arms("rest", "grpc"), RATES, found, {"browse": 1})
    assert {(row["verdict"], row["reason"]) for row in rows} == {("unknown", "needs 3 blocks, and there are 2")}


def test_a_block_in_which_an_arm_answered_nothing_does_not_count() -> None:
    rng = np.random.default_rng(1)
    found = {AXIS.label(name, rate): latencies(rng, 10.0) for name in ("rest", "grpc") for rate in RATES}
    found[AXIS.label("grpc", 60.0)] = latencies(rng, 10.0, blocks=4)
    rows = crossings(arms("rest", "grpc"), RATES, found, {"browse": 1})
    assert {row["verdict"] for row in rows} == {"not_shown"}


def test_rates_that_not_all_have_are_not_compared() -> None:
    manifest = {
        "topologies": {"rest-10": {"name": "rest"}, "rest-60pct": {"name": "rest"}, "grpc-10": {"name": "grpc"}},
        "loads": {"rest-10": {"rate": 10}, "rest-60pct": {"rate": 93}, "grpc-10": {"rate": 10}},
    }
    found = AXIS.arms(manifest)
    assert [(arm.at, arm.percent) for arm in found] == [(10, None), (93, 60), (10, None)]
    assert shared_places(found) == [10]
    assert crossings(arms("rest"), [10.0], {}, {}) == []


def run_of(programs: Mapping[str, dict[str, str]] | None = None, **switches: object) -> RunFiles:
    """Makes a run of `rest` at `RATES` on two cores."""
    labels = [AXIS.label("rest", rate) for rate in RATES]
    topology = {"name": "rest", "programs": programs or {}}
    manifest = {"machine": {"cores": 2}, "topologies": dict.fromkeys(labels, topology), "switches": switches}
    run = RunFiles.__new__(RunFiles)
    object.__setattr__(run, "manifest", manifest)
    return run


@pytest.mark.parametrize("blocks", [2, 4])
def test_what_is_full_first_is_found_with_its_rate(blocks: int) -> None:
    # The event loop of product uses 0.01 core for each journey a second; all processes together use 0.016, and 0.1 at
    # rest.
    rng = np.random.default_rng(1)

    def cores(rate: float) -> dict[str, float]:
        product, machine = (per_s * rate * rng.normal(1, 0.01) for per_s in (0.01, 0.016))
        return {"product": product, "postgres": 0.006 * rate, "machine": 0.1 + machine}

    used = {AXIS.label("rest", rate): {block: (rate, cores(rate)) for block in range(blocks)} for rate in RATES}
    product, machine = fillings(run_of(), arms("rest"), used)
    assert (product["component"], machine["component"]) == ("product", "machine")
    assert product["at"]["value"] == pytest.approx(100, rel=0.05)
    assert machine["at"]["value"] == pytest.approx(119, rel=0.05)
    low, high = product["at"]["ci95"]
    assert (low is None) == (blocks == 2)
    if low is not None and high is not None:
        assert low < product["at"]["value"] < high


def test_rates_that_hardly_differ_show_nothing_about_what_is_full() -> None:
    rates = dict(zip(RATES, np.linspace(40.0, 42.0, len(RATES)), strict=True))
    used = {
        AXIS.label("rest", rate): dict.fromkeys((1, 2), (sent, {"product": sent / 100, "machine": sent / 50}))
        for rate, sent in rates.items()
    }
    assert fillings(run_of(), arms("rest"), used) == []


@pytest.mark.parametrize(
    ("run", "limits"),
    [
        (run_of(), {"machine": 2, "product": 1, "graphql-gateway": 1}),
        (run_of(replicas={"graphql-gateway": 2}), {"machine": 2, "product": 1, "graphql-gateway": 2}),
        (run_of(implementation={"product": "go"}), {"machine": 2, "graphql-gateway": 1}),
        (run_of({"product": {"implementation": "go"}}), {"machine": 2, "graphql-gateway": 1}),
        (run_of({"product": {"implementation": ""}}), {"machine": 2, "graphql-gateway": 1}),
        (run_of({"graphql-gateway": {"implementation": "hive"}}), {"machine": 2, "product": 1, "graphql-gateway": 1}),
    ],
)
def test_each_replica_has_an_event_loop_and_go_has_none(run: RunFiles, limits: Mapping[str, float]) -> None:
    cores = {rate: {"product": 0.01 * rate, "graphql-gateway": 0.02 * rate, "machine": 0.05 * rate} for rate in RATES}
    used = {AXIS.label("rest", rate): dict.fromkeys((1, 2), (rate, cores[rate])) for rate in RATES}
    assert {row["component"]: row["limit"] for row in fillings(run, arms("rest"), used)} == limits
