"""Two made-up runs compared: what is refused, what is shown, and how certain it is."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hops.elements.markdown import markdown
from hops.errors import MalformedRunError, NotComparableError
from hops.kinds.two_runs.analysis import Threshold, compare_runs, list_watched, regressions
from hops.kinds.two_runs.comparable import pairs, what_differs
from hops.kinds.two_runs.tables import findings, headline, runs_sections, threshold_lines
from hops.run.files import RunFiles
from hops.statistics.contrast import contrast, spread_if_independent
from hops.statistics.over_blocks import sections_of
from synthetic.of_axes import arms_at_rates


def change(run: RunFiles, **values: Any) -> RunFiles:
    """Returns the run with some values in its manifest changed; `seeds__data` is `data` within `seeds`."""
    manifest = copy.deepcopy(run.manifest)
    for key, value in values.items():
        *above, last = key.split("__")
        inner = manifest
        for step in above:
            inner = inner[step]
        inner[last] = value
    return replace(run, manifest=manifest)


def with_load_of(other: RunFiles, run: RunFiles) -> RunFiles:
    """Returns the run as if it had been made with the tape of another run."""
    return change(run, **{name: other.manifest[name] for name in ("tapes", "seeds", "profile")})


@pytest.fixture(scope="module")
def runs(make_run) -> tuple[RunFiles, RunFiles]:
    """Run a, and run b with the same tape, in which hybrid waits 3 ms longer for the orders' database."""
    options = {"topologies": ["rest", "hybrid"], "journeys_per_trial": 1200}
    first = make_run(blocks=5, seed=1, **options)
    second = make_run(blocks=4, seed=2, delays_ms={"hybrid": {"db:order": 3.0}}, **options)
    return first, with_load_of(first, second)


@pytest.fixture(scope="module")
def found(runs):
    return compare_runs(*runs, Threshold(0.1))


def row_of(found, topology, journey, metric):
    return next(
        row
        for row in found["rows"]
        if (row["topology_a"], row["journey"], row["metric"]) == (topology, journey, metric)
    )


def test_a_difference_is_b_minus_a_and_found_with_its_size(found):
    row = row_of(found, "hybrid", "order_status", "p50")
    assert row["verdict"] == "higher"
    assert row["difference"] == pytest.approx(row["b"] - row["a"])
    assert row["ratio"] == pytest.approx(row["b"] / row["a"])
    assert row["ci95"][0] < 3.0 < row["ci95"][1]
    assert row["effect"] < 0.5
    assert any("b answers order_status" in line and "slower" in line for line in findings(found))


def test_unchanged_parts_are_not_shown(found):
    assert all(row["verdict"] in ("not_shown", "unknown") for row in found["rows"] if row["topology_a"] == "rest")


def test_the_other_way_round_b_is_faster(runs):
    row = row_of(compare_runs(*reversed(runs), Threshold(0.1)), "hybrid", "order_status", "p50")
    assert (row["verdict"], row["regression"]) == ("lower", "no")


def test_only_a_whole_interval_beyond_the_threshold_is_shown(found):
    beyond = regressions(found, "shown")
    assert [(row["topology_a"], row["journey"]) for row in beyond] == [("hybrid", "order_status")]
    for row in beyond:
        assert row["ratio_ci95"][0] > 1.1
    for row in regressions(found, "possible"):
        assert row["ratio"] > 1.1
    assert {row["metric"] for row in list_watched(found)} == {"p50", "p99"}
    assert "SLOWER by more than 10 %" in threshold_lines(found)[0]


def test_a_threshold_applies_to_the_given_metrics(found):
    of_cpu = Threshold(0.1, ("cpu_ms",))
    assert {row["metric"] for row in found["rows"] if of_cpu.judge(row) is not None} == {"cpu_ms"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tapes__load": "f" * 64}, "the tapes differ"),
        ({"tapes__load": "f" * 64, "workload": "mine.yaml"}, "workload default.yaml against mine.yaml"),
        ({"seeds__data": 7}, "the data differ: seed 1 against 7"),
        ({"switches__scale": 3}, "the data differ for rest and hybrid: scale 1 against 3"),
        ({"mode": "closed", "closed": {"vus": 4, "think_s": 0.1}}, "a closed loop of 4 virtual users"),
        ({"profile__warmup_s": 9}, "the warm-up differs: 4 s against 9 s"),
        ({"profile__duration_s": 9}, "the length of the load differs"),
    ],
)
def test_incomparable_runs_are_refused_with_the_reason(runs, changes, reason):
    with pytest.raises(NotComparableError, match=reason):
        compare_runs(runs[0], change(runs[1], **changes))


@pytest.fixture(scope="module")
def at_rates(make_run) -> list[RunFiles]:
    """Two runs of `rest` at two rates, whose second arm is sent over 4 connections while customers poll every 5 s."""
    run = make_run(kind="rates", arms=arms_at_rates(("rest",), (20.0, 40.0)), blocks=3, journeys_per_trial=400)
    watch = {"rest-40": {"topology": "rest", "interval_s": 5.0}}
    return [
        change(run, watch=watch, **{"loads__rest-40__sending": {"connections": 4, f"only_in_{name}": 1}})
        for name in ("a", "b")
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"loads__rest-40__tape": "f" * 64, "loads__rest-40__rate": 44.0},
         "the tapes differ for rest-40: rate 40.0 against 44.0"),
        ({"loads__rest-40__tape": "f" * 64}, "the tapes differ for rest-40: 000000000000… against ffffffffffff…"),
        ({"loads__rest-40__sending": {"connections": 8}}, "the loads differ for rest-40: connections 4 against 8"),
        ({"watch__rest-40__interval_s": 30.0}, r"differ for rest-40: interval_s 5\.0 against 30\.0"),
    ],
)  # fmt: skip
def test_each_arm_must_have_the_same_load(at_rates, changes, reason):
    with pytest.raises(NotComparableError, match=reason):
        compare_runs(at_rates[0], change(at_rates[1], **changes))


def test_all_reasons_are_given_at_once(runs):
    with pytest.raises(NotComparableError, match=r"warm-up.*; the data differ"):
        compare_runs(runs[0], change(runs[1], seeds__data=7, profile__warmup_s=9))


def test_one_topology_each_are_a_pair_under_any_names(at_rates):
    compared = compare_runs(*(run.of_arms({"rest-20": name}) for run, name in zip(at_rates, "xy", strict=True)))
    assert {(row["topology_a"], row["topology_b"]) for row in compared["rows"]} == {("x", "y")}
    assert "x (a) against y (b)" in findings(compared)[0]


def test_several_topologies_without_one_in_common_are_refused(runs):
    with pytest.raises(NotComparableError, match="no topology in common: rest, hybrid against grpc"):
        pairs(runs[0], change(runs[1], topologies={"grpc": {}}))


def differing(runs, **changes):
    """Returns what differs between run a and the changed run b, with the values of both."""
    first, second = runs[0], change(runs[1], **changes)
    return {row["what"]: (row["a"], row["b"]) for row in what_differs(first, second, pairs(first, second))}


def test_allowed_differences_are_reported(runs):
    differs = differing(runs, git__commit="1" * 40, git__dirty=True, machine__cores=8, switches__http=1)
    assert differs["commit"] == ("0" * 12, "1" * 12 + " with changes")
    assert differs["machine: cores"] == ("2", "8")
    assert differs["switch: http"] == ("2", "1")
    assert differs["blocks"] == ("5", "4")
    assert "source of CPU time" not in differs


def test_another_network_is_reported(runs):
    near = runs[1].manifest["switches"] | {"network": "loopback"}
    far = near | {"network": "4g", "rtt_ms": None, "bandwidth": "", "visit": "warm", "networks": {}}
    of_4g = "4g (70 ms, 12/12 Mbit/s), connections open from an earlier visit"
    differs = differing(runs, switches=far)
    assert differs["network"] == ("none", of_4g)
    assert [what for what in differs if what.startswith("switch: ")] == []
    assert differing(runs, arms={"rest": near, "hybrid": far})["network"][1] == f"rest: none; hybrid: {of_4g}"


def test_switches_of_each_arm_count(runs):
    switches = runs[1].manifest["switches"]
    assert differing(runs, arms={"rest": switches, "hybrid": {**switches, "http": 1}})["switch: http of hybrid"] == (
        "2", "1"
    )  # fmt: skip
    with pytest.raises(NotComparableError, match="the data differ for hybrid: scale 1 against 3"):
        compare_runs(runs[0], change(runs[1], arms={"rest": switches, "hybrid": {**switches, "scale": 3}}))


def test_a_run_from_before_a_switch_existed_had_its_default(runs):
    later = {"switches__replicas": {}, "switches__abort_share": {}, "switches__store": "postgres"}
    assert [what for what in differing(runs, switches__canary=0, **later) if what.startswith("switch: ")] == []
    later |= {"switches__abort_share": {"payment": 0.01}, "switches__replicas": {"product": 2}}
    differs = differing(runs, switches__canary=10, **later)
    assert differs["switch: replicas"] == ("none", "product 2")
    assert (differs["switch: canary"], differs["switch: abort_share"]) == (("0", "10"), ("none", "payment 0.01"))


def test_a_run_that_was_slowed_on_purpose_says_so(at_rates):
    slowed = at_rates[1].manifest["switches"] | {"delay_ms": {"payment": 2.0}}
    compared = compare_runs(at_rates[0], change(at_rates[1], switches=slowed))
    assert "b: DELAY INJECTED: 2 ms in payment" in " ".join(headline(compared))


def test_one_block_on_a_side_shows_figures_and_refuses_intervals(runs, make_run):
    compared = compare_runs(
        runs[0], make_run(topologies=["hybrid"], blocks=1, journeys_per_trial=1200, seed=1), Threshold(0.1)
    )
    row = row_of(compared, "hybrid", "all", "p50")
    assert row["difference"] is not None
    assert row["ci95"] == [None, None]
    assert row["reason"] == "b: needs 3 blocks, and there is 1"
    assert (row["verdict"], row["regression"]) == ("unknown", "unknown")
    assert " at p50: not tested: b: needs 3 blocks, and there is 1" in findings(compared)[0]
    rare = row_of(compared, "hybrid", "login", "p99")
    assert rare["reason"].startswith("a: needs 1,000 journeys, and there are ")
    assert rare["reason"].endswith("; b: needs 3 blocks, and there is 1")


def test_a_noisy_run_says_so_before_each_finding(runs, make_run):
    failing = {(1, "hybrid"): "steal_share"}
    spoilt = make_run(topologies=["hybrid"], blocks=3, journeys_per_trial=400, failing=failing)
    compared = compare_runs(runs[0], with_load_of(runs[0], spoilt))
    assert compared["verdict"] == "NOISY"
    assert any(re.match(r"b: \w+, 3 blocks, NOISY", line) for line in headline(compared))
    assert all(line.startswith("NOISY: ") for line in findings(compared))


def test_where_no_difference_is_shown_it_says_what_would_have_been(found):
    of_hybrid = [row for row in found["rows"] if (row["topology_a"], row["metric"]) == ("hybrid", "p50")]
    silent = [row for row in of_hybrid if row["verdict"] == "not_shown" and row["journey"] != "all"]
    ratios = [row["visible_ratio"] for row in silent]
    (at_p50,) = [text for text in findings(found) if text.startswith("hybrid at p50: ")]
    ends = " to ".join(f"{100 * (ratio - 1):.0f} %" for ratio in (min(ratios), max(ratios)))
    assert f"no difference shown for {len(ratios)} journeys, where {ends} would have been seen" in at_p50


def test_markdown_has_every_row(found):
    text = markdown("Two runs", [], runs_sections(found))
    assert text.count("\n| ") >= len(found["rows"])
    assert r"| order\_status | p50 |" in text
    assert "| blocks | 5 | 4 |" in text


def test_runs_from_before_the_machines_speed_was_measured_can_be_compared(at_rates):
    trials = [{name: value for name, value in trial.items() if name != "machine_speed"} for trial in at_rates[1].trials]
    assert compare_runs(at_rates[0], replace(at_rates[1], trials=trials))["rows"]


def test_a_trial_without_journeys_is_named(runs):
    trials = runs[1].trials
    with pytest.raises(MalformedRunError, match="block 9"):
        compare_runs(runs[0], replace(runs[1], trials=[*trials, trials[0] | {"block": 9}]))


def test_welch_is_scipys():
    """For deviations with mean 0, the standard error equals SciPy's, so SciPy's Welch test must give equal results."""
    rng = np.random.default_rng(3)
    left, right = rng.normal(0, 0.05, 5), rng.normal(0, 0.2, 4)
    left, right = left - left.mean(), right - right.mean()
    theirs = stats.ttest_ind(left + 0.3, right, equal_var=False)
    ours = spread_if_independent(left, right)
    assert ours.freedom == pytest.approx(theirs.df)
    assert ours.p_value(0.3) == pytest.approx(theirs.pvalue)
    ends = theirs.confidence_interval(0.95)
    assert (0.3 - ours.half_width, 0.3 + ours.half_width) == pytest.approx((ends.low, ends.high))


def test_intervals_of_two_independent_runs_hold_the_truth():
    """Skewed latencies whose blocks shift: 95 % of the intervals of a ratio must contain it, within chance."""
    rng = np.random.default_rng(11)

    def run(factor):
        shifts = rng.normal(0, 0.05, 5)
        return sections_of([factor * rng.lognormal(shift, 0.5, 400) for shift in shifts])["p50"]

    contrasts = [contrast(run(1.2), run(1.0), spread_if_independent) for _ in range(300)]
    held = np.mean([one.ratio_interval[0] < 1.2 < one.ratio_interval[1] for one in contrasts])
    assert 0.92 < held < 0.985
