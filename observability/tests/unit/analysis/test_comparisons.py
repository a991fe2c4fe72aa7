"""Comparisons of topologies: what is shown, what is not, and what cannot be tested."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hops.analysis.comparisons import compare_cpu, compare_latencies, correct
from hops.analysis.latencies import Latencies, cells_of
from hops.statistics import correction
from synthetic.experiment import Noise, Setting, Simulation
from synthetic.shop import JOURNEY_SHAPES


def simulate(factors: dict[str, float], *, blocks: int = 5, journeys: int = 1200, seed: int = 1):
    setting = Setting(blocks, journeys, Noise(sigma=0.3, block=0.03, trial=0.01))
    return Simulation(setting, np.random.default_rng(seed)).experiment(factors)


def add_verdicts(rows):
    correct(rows)
    return rows


def test_a_slower_topology_is_shown_and_the_same_ones_are_not():
    rows = add_verdicts(compare_latencies(simulate({"a": 1.0, "b": 1.0, "c": 1.5})))
    cells = {(row["journey"], row["metric"], row["left"], row["right"]): row for row in rows}
    faster = cells["all", "p50", "a", "c"]
    assert faster["verdict"] == "left_lower"
    assert faster["ratio_ci95"][0] < 1 / 1.5 < faster["ratio_ci95"][1]
    assert faster["effect"] > 0.5
    assert cells["all", "p50", "a", "b"]["verdict"] == "not_shown"
    assert {row["verdict"] for row in rows if row["right"] == "c"} <= {"left_lower", "unknown", "not_shown"}


def test_rows_are_by_pair_then_journey_then_metric():
    rows = compare_latencies(simulate({"b": 1.0, "a": 1.0, "c": 1.0}))
    pairs = list(dict.fromkeys((row["left"], row["right"]) for row in rows))
    assert pairs == [("b", "a"), ("b", "c"), ("a", "c")]
    assert list(dict.fromkeys(row["journey"] for row in rows)) == ["all", *sorted(JOURNEY_SHAPES)]


def test_swapped_topologies_mirror_every_row():
    sides = simulate({"a": 1.0, "b": 1.1})
    ours = add_verdicts(compare_latencies(sides))
    theirs = add_verdicts(compare_latencies({"b": sides["b"], "a": sides["a"]}))
    turned = {"left_lower": "right_lower", "right_lower": "left_lower"}
    for one, other in zip(ours, theirs, strict=True):
        assert other["verdict"] == turned.get(one["verdict"], one["verdict"])
        assert other["difference"] == pytest.approx(-one["difference"])
        assert other["p_corrected"] == pytest.approx(one["p_corrected"])
        assert other["effect"] == pytest.approx(1 - one["effect"])


def test_the_correction_covers_the_pairs_and_journeys_of_one_metric():
    rows = add_verdicts(compare_latencies(simulate({"a": 1.0, "b": 1.02})))
    tested = [row for row in rows if row["metric"] == "mean"]
    assert len(tested) == 1 + len(JOURNEY_SHAPES)
    p_values = {(row["journey"], "a", "b"): row["p"] for row in tested}
    expected = correction.correct_tests(p_values)
    assert [row["p_corrected"] for row in tested] == [expected[key].p for key in p_values]
    assert all(row["p_corrected"] >= row["p"] for row in rows if row["p"] is not None)


def test_what_would_have_been_seen_follows_from_spread_freedom_and_correction():
    rows = add_verdicts(compare_latencies(simulate({"a": 1.0, "b": 1.0})))
    row = next(row for row in rows if (row["journey"], row["metric"]) == ("all", "p50"))
    assert (row["verdict"], row["freedom"]) == ("not_shown", 4)
    # Alone the mix needs a |t| of 2.78 at 5 %; with three quarters of the 5 %, it needs 3.06. A power of 80 % needs
    # more.
    error = np.log(row["ratio_ci95"][1] / row["ratio"]) / stats.t.ppf(0.975, 4)
    shown = 1 - stats.nct.cdf(stats.t.ppf(1 - 0.0375 / 2, 4), 4, np.log(row["visible_ratio"]) / error)
    assert shown == pytest.approx(0.8, abs=1e-4)
    assert all(row["visible_ratio"] > 1 for row in rows if row["verdict"] != "unknown")


def test_more_blocks_see_smaller_differences():
    few, many = (
        next(row for row in add_verdicts(compare_latencies(simulate({"a": 1.0, "b": 1.0}, blocks=blocks))))
        for blocks in (3, 12)
    )
    assert many["visible_ratio"] < few["visible_ratio"]


def test_rare_journeys_have_no_p99_and_nobody_a_p99_9():
    rows = add_verdicts(compare_latencies(simulate({"a": 1.0, "b": 1.0})))
    refused = next(row for row in rows if (row["journey"], row["metric"]) == ("login", "p99"))
    assert (refused["verdict"], refused["p"], refused["ci95"]) == ("unknown", None, [None, None])
    assert refused["reason"].startswith("needs 1,000 journeys, and there are ")
    assert refused["left_value"] > 0
    assert not any(row["metric"] == "p99_9" for row in rows)


def test_long_trials_have_a_p99_9():
    rows = compare_latencies(simulate({"a": 1.0, "b": 1.0}, journeys=2000))
    assert [row["journey"] for row in rows if row["metric"] == "p99_9"] == ["all"]


@pytest.mark.parametrize("blocks", [1, 2])
def test_few_blocks_leave_the_figures_and_refuse_the_rest(blocks):
    for row in add_verdicts(compare_latencies(simulate({"a": 1.0, "b": 1.5}, blocks=blocks))):
        assert row["difference"] < 0
        assert (row["p"], row["verdict"]) == (None, "unknown")
        assert row["reason"].startswith("needs 3 blocks, and there")


def test_only_blocks_of_both_sides_count():
    sides = simulate({"a": 1.0, "b": 1.0}, blocks=4)
    del sides["b"].cells["all"][4]
    short = Latencies({name: {k: v for k, v in cell.items() if k != 4} for name, cell in sides["b"].cells.items()})
    rows = compare_latencies({"a": sides["a"], "b": short})
    first = next(row for row in rows if (row["journey"], row["metric"]) == ("all", "mean"))
    assert first["left_value"] == pytest.approx(np.mean(sides["a"].pool("all", (1, 2, 3))))


def test_a_journey_of_one_side_only_is_unknown():
    whole = cells_of({("browse", b): np.full(20, 5.0 + b) for b in (1, 2, 3)})
    more = cells_of({("login", b): np.full(20, 5.0) for b in (1, 2, 3)})
    rows = add_verdicts(compare_latencies({"a": Latencies(whole), "b": Latencies(more)}))
    row = next(row for row in rows if row["journey"] == "login")
    assert (row["left_value"], row["verdict"]) == (None, "unknown")
    assert row["reason"] == "there is no journey that ended ok"


def test_one_topology_has_nothing_to_be_compared_with():
    assert compare_latencies(simulate({"a": 1.0})) == []
    assert add_verdicts([]) == []


def test_cpu_is_compared_too():
    used = {
        "a": {1: (1.0, 1000), 2: (1.02, 1000), 3: (0.99, 1000)},
        "b": {1: (2.0, 1000), 2: (2.01, 1000), 3: (2.02, 1000)},
    }
    (row,) = add_verdicts(compare_cpu(used))
    assert (row["journey"], row["metric"], row["effect"]) == ("all", "cpu_ms", None)
    assert row["difference"] == pytest.approx(1.00333 - 2.01, abs=1e-4)
    assert row["verdict"] == "left_lower"
