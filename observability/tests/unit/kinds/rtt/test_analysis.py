"""The effect of distance compared with its model, in experiments whose true values are known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hops.analysis.latencies import latencies_of
from hops.kinds.rtt.analysis import AtDistances, distance_check
from hops.kinds.rtt.break_even import break_even_check
from hops.kinds.rtt.conclusions import break_even_sentences, rtt_sentences
from hops.kinds.rtt.document import AXIS, DistanceCheck
from hops.run.documents.distance import BreakEven, Stretch
from hops.run.documents.estimate import Estimate
from hops.units import NS_PER_MS

RTTS_MS = (0.0, 20.0, 50.0, 100.0)
TOPOLOGIES = {"two": (8.0, 2), "one": (20.0, 1)}
"""Own time, ms, and round trips: `two` sends two requests in sequence and is faster nearby, `one` sends one. They break
even at 12 ms."""
BREAK_EVEN_MS = 12.0
EXPERIMENTS = 50


def experiment(rng, *, stretch: float = 1.0, blocks: int = 5, count: int = 120, lost: int = 0) -> DistanceCheck:
    """Makes two topologies at four distances; each millisecond of distance costs `stretch` ms.

    In block `lost`, the last arm answers nothing.
    """
    shifts = rng.lognormal(0, 0.03, blocks)
    topologies = {}
    for name, (own_ms, round_trips) in TOPOLOGIES.items():
        labels, frames = [AXIS.label(name, rtt_ms) for rtt_ms in RTTS_MS], []
        for rtt_ms in RTTS_MS:
            own = own_ms * rng.lognormal(0, 0.3, (blocks, count)) * (shifts * rng.lognormal(0, 0.02, blocks))[:, None]
            latency_ms = own + round_trips * rtt_ms * stretch
            block, ns = np.repeat(np.arange(1, blocks + 1), count), (latency_ms.ravel() * NS_PER_MS).astype(np.int64)
            every = {"journey": "ask", "channel": "web", "outcome": "ok"}
            frames.append(pl.DataFrame({"block": block, **every, "latency_ns": ns}))
        nearest = frames[0].select(
            "block", "journey", "channel", at_edge_ms=pl.col("latency_ns") / NS_PER_MS,
            own_ms=pl.col("latency_ns") / NS_PER_MS, round_trips=pl.lit(float(round_trips)), down=pl.lit(0.0),
            up=pl.lit(0.0),
        )  # fmt: skip
        topologies[name] = AtDistances(labels, nearest, [latencies_of(frame) for frame in frames])
    topologies[name].latencies[-1] = latencies_of(frames[-1].filter(pl.col("block") != lost))
    return distance_check(RTTS_MS, topologies)


def inside(estimate, truth: float) -> bool:
    low, high = estimate["ci95"]
    return low <= truth <= high


def test_intervals_hold_the_truth_and_model_and_measurement_agree() -> None:
    rng = np.random.default_rng(3)
    checks = [experiment(rng) for _ in range(EXPERIMENTS)]
    slopes = [row for check in checks for row in check["slopes"]]
    assert {(row["topology"], row["round_trips"]) for row in slopes} == {("two", 2.0), ("one", 1.0)}
    assert 0.9 < np.mean([inside(row["ratio"], 1.0) for row in slopes]) < 0.995
    assert np.mean([row["ratio"]["value"] for row in slopes]) == pytest.approx(1.0, abs=0.002)
    points = [row for check in checks for row in check["points"]]
    assert {row["rtt_ms"] for row in points} == set(RTTS_MS[1:])
    assert 0.92 < np.mean([inside(row["difference"], 0.0) for row in points]) < 0.98
    broken = [row for check in checks for row in check["break_evens"] if row["journey"] == "ask"]
    assert {(row["measured"]["verdict"], row["measured"]["sooner"]) for row in broken} == {("from", "one")}
    assert np.mean([row["measured"]["at_ms"] for row in broken]) == pytest.approx(BREAK_EVEN_MS, abs=0.3)
    assert 0.91 < np.mean([inside(row["difference"], 0.0) for row in broken]) < 0.99
    assert np.mean([row["difference"]["ci95"][1] - row["difference"]["ci95"][0] for row in broken]) < 4


def test_a_distance_that_takes_more_than_its_round_trips_shows() -> None:
    rng = np.random.default_rng(4)
    checks = [experiment(rng, stretch=1.2) for _ in range(8)]
    assert np.mean([row["ratio"]["value"] for one in checks for row in one["slopes"]]) == pytest.approx(1.2, abs=0.01)
    far = [row for check in checks for row in check["points"] if row["rtt_ms"] == 100.0 and row["journey"] == "ask"]
    assert all(row["verdict"] == "differ" and row["difference"]["value"] > 0 for row in far)


def test_a_block_in_which_an_arm_answered_nothing_does_not_count() -> None:
    check = experiment(np.random.default_rng(5), blocks=6, lost=1)
    assert "unknown" not in {row["verdict"] for row in check["points"]}
    (row,) = [row for row in check["break_evens"] if row["journey"] == "ask"]
    assert row["verdict"] == "agree"


@pytest.mark.parametrize(("more", "reason"), [({"blocks": 2}, "3 blocks"), ({"count": 3}, "needs 4 journeys")])
def test_too_few_data_give_figures_and_no_verdict(more: dict[str, int], reason: str) -> None:
    check = experiment(np.random.default_rng(6), **more)
    for row in (*check["points"], *check["break_evens"]):
        assert row["verdict"] == "unknown"
        assert reason in (row["reason"] or "")
    for slope in check["slopes"]:
        assert slope["slope"]["ci95"] == [None, None]
        assert reason in (slope["reason"] or "")
    (sentence,) = break_even_sentences(check)
    assert sentence.startswith("Rankings were not tested: needs ")
    arms = {AXIS.label(name, at): {"journeys": {}} for name in check["topologies"] for at in check["rtts_ms"]}
    summary = {"topologies": arms, "comparisons": [], "hop_differences": [], "rtt": check}
    sentences = rtt_sentences(summary)  # type: ignore[arg-type]
    assert "None of them has an interval" in sentences[0]
    untested = [sentence.partition(": ")[0] for sentence in sentences[1:]]
    assert untested == ["The model was not tested", "Break-evens were not tested"]


def broken_even(
    at_ms: float | None, ends: list[float | None], verdict: str = "from", **stretches: list[float]
) -> BreakEven:
    shown = [Stretch(sooner=name, from_ms=low, to_ms=high) for name, (low, high) in stretches.items()]
    return BreakEven(
        left="one", right="two", verdict=verdict, sooner="one", at_ms=at_ms, ci95_ms=ends, stretches=shown,
        p_corrected=[0.0, 0.0], reason=None,
    )  # fmt: skip


@pytest.mark.parametrize(("ends", "verdict"), [([-1.0, 13.0], "agree"), ([1.0, 11.0], "differ")])
def test_two_break_evens_agree_if_their_joint_interval_includes_0(ends: list[float | None], verdict: str) -> None:
    near, far = broken_even(10.0, [7.0, 14.0]), broken_even(16.0, [13.0, 18.0])
    assert break_even_check("ask", near, far, Estimate(value=6.0, ci95=ends))["verdict"] == verdict


def test_without_two_break_evens_the_verdict_is_only_on_which_is_faster_where() -> None:
    turned = broken_even(3.0, [None, 9.0], one=[9, 100])
    always = broken_even(None, [None, None], "always", one=[0, 100])
    never = broken_even(None, [None, None], "never", two=[0, 100])
    assert break_even_check("ask", always, always, None)["verdict"] == "agree"
    assert break_even_check("ask", turned, never, None)["verdict"] == "differ"
    assert break_even_check("ask", turned, always, None)["verdict"] == "unknown"
