"""How much faster other journeys get without one kind, in made-up experiments whose interference is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hops.analysis.meetings import MIN_MEETINGS
from hops.kinds.isolate.analysis import isolation_of
from hops.kinds.isolate.document import AS_IS, OTHERS, disturber_of, in_words

OWN_MS = {"browse": 10.0, "bulk_lines": 170.0, "login": 20.0, "product": 5.0}
SHARES = (0.4, 0.06, 0.14, 0.4)
WITHOUT, APART = "without-bulk_lines", "apart-bulk_lines"
EXPERIMENTS = 24


def experiment(rng, waits_ms: float, *, remain: float = 0.0, blocks: int = 6, count: int = 400, rate: float = 20.0):
    """Rows by arm, and how much waiting behind a `bulk_lines` is expected to add to the mean of the arm `as-is`.

    A journey's request is the same in all arms and blocks; each trial is shifted as a whole, and journeys scatter
    separately. In the arm `apart`, a share of each wait remains.
    """
    at_ms = np.cumsum(rng.exponential(1e3 / rate, count))
    kinds = rng.choice(list(OWN_MS), count, p=SHARES)
    bulk = kinds == "bulk_lines"
    own_ms = np.array([OWN_MS[kind] for kind in kinds]) * np.exp(rng.normal(0, 0.3, count))
    trials: dict[str, list[pl.DataFrame]] = {AS_IS: [], WITHOUT: [], APART: []}
    met = []
    for block in range(1, blocks + 1):
        shift = rng.normal(0, 0.05)
        for arm, left in ((AS_IS, 1.0), (WITHOUT, 0.0), (APART, remain)):
            ms = own_ms * np.exp(shift + rng.normal(0, 0.02)) * np.exp(rng.normal(0, 0.25, count))
            ends = at_ms[bulk] + ms[bulk]
            under_way = ((at_ms[bulk] < at_ms[:, None]) & (at_ms[:, None] < ends)).any(axis=1) & ~bulk
            waits = np.where(under_way, left * waits_ms * rng.exponential(1, count), 0)
            if arm == AS_IS:
                met.append(under_way[~bulk].mean())
            ms = ms + waits
            rows = pl.DataFrame(
                {
                    "block": block, "seq": range(count), "journey": kinds, "intended_ns": at_ms * 1e6,
                    "ended_ns": (at_ms + ms) * 1e6, "latency_ns": ms * 1e6, "outcome": "ok",
                }
            )  # fmt: skip
            trials[arm].append(rows.filter(pl.lit(arm != WITHOUT) | (pl.col("journey") != "bulk_lines")))
    return {arm: pl.concat(frames) for arm, frames in trials.items()}, waits_ms * float(np.mean(met))


def gains(rows, journey: str = OTHERS):
    found = isolation_of(rows, disturber_of(rows))["rows"]
    return {row["arm"]: row for row in found if row["journey"] == journey}


def inside(estimate, truth: float) -> bool:
    low, high = estimate["ci95"]
    return low <= truth <= high


@pytest.mark.parametrize("waits_ms", [0.0, 40.0])
def test_intervals_hold_the_truth_and_the_two_agree(waits_ms: float) -> None:
    rng = np.random.default_rng(7)
    covered = {"measured": 0, "predicted": 0, "difference": 0}
    shown = 0
    for _ in range(EXPERIMENTS):
        rows, truth = experiment(rng, waits_ms)
        row = gains(rows)[WITHOUT]
        for name, true in (("measured", truth), ("predicted", truth), ("difference", 0.0)):
            covered[name] += inside(row[name], true)
        assert (row["verdict"] == "agree") == inside(row["difference"], 0.0)
        shown += not inside(row["predicted"], 0.0)
    assert all(count >= 0.86 * EXPERIMENTS for count in covered.values()), covered
    assert shown > 0.9 * EXPERIMENTS if waits_ms else shown < 0.14 * EXPERIMENTS


def test_what_the_arm_does_not_take_away_is_a_disagreement() -> None:
    rng = np.random.default_rng(8)
    verdicts = [gains(experiment(rng, 60.0, remain=0.7)[0]) for _ in range(10)]
    assert sum(row[APART]["verdict"] == "differ" for row in verdicts) >= 8
    assert all(row[APART]["difference"]["value"] < 0 for row in verdicts)
    assert sum(row[WITHOUT]["verdict"] == "agree" for row in verdicts) >= 8


def test_each_kind_of_journey_has_its_own_gain_and_the_disturber_has_none() -> None:
    rows, _ = experiment(np.random.default_rng(9), 40.0)
    isolation = isolation_of(rows, "bulk_lines")
    assert isolation["disturber"] == "bulk_lines"
    assert [(row["arm"], row["journey"]) for row in isolation["rows"]] == [
        (arm, journey) for arm in (WITHOUT, APART) for journey in (OTHERS, "browse", "login", "product")
    ]
    whole, *each = isolation["rows"][:4]
    assert whole["journeys"] == sum(row["journeys"] for row in each)
    assert whole["meetings"] == sum(row["meetings"] for row in each)
    assert whole["difference"]["value"] == pytest.approx(whole["measured"]["value"] - whole["predicted"]["value"])
    weighed = sum(row["measured"]["value"] * row["journeys"] for row in each) / whole["journeys"]
    assert whole["measured"]["value"] == pytest.approx(weighed)


def test_journeys_that_failed_in_either_arm_do_not_count() -> None:
    rows, _ = experiment(np.random.default_rng(10), 40.0)
    failed = pl.when((pl.col("seq") < 50) & (pl.col("block") == 2)).then(pl.lit("server")).otherwise("outcome")
    whole = gains(rows)[WITHOUT]["journeys"]
    lost = rows[WITHOUT].filter((pl.col("seq") < 50) & (pl.col("block") == 2)).height
    broken = {**rows, WITHOUT: rows[WITHOUT].with_columns(failed.alias("outcome"))}
    assert gains(broken)[WITHOUT]["journeys"] == whole - lost
    assert gains(broken)[APART]["journeys"] == whole


def test_too_few_meetings_predict_nothing() -> None:
    rows, _ = experiment(np.random.default_rng(11), 40.0, count=40)
    for of_arms in (rows, {arm: one.filter(pl.col("journey") != "bulk_lines") for arm, one in rows.items()}):
        row = gains(of_arms)[WITHOUT]
        assert row["meetings"] < MIN_MEETINGS
        assert (row["predicted"], row["difference"], row["verdict"]) == (None, None, "unknown")
        assert (row["reason"] or "").startswith(f"too few: {row['meetings']} of {row['journeys']} journeys met a bulk")


def test_two_blocks_have_figures_and_no_verdict() -> None:
    rows, _ = experiment(np.random.default_rng(12), 40.0, blocks=2)
    row = gains(rows)[WITHOUT]
    assert row["measured"]["ci95"] == row["difference"]["ci95"] == [None, None]
    assert row["verdict"] == "unknown"
    assert row["reason"] == "needs 3 blocks, and there are 2"


def test_arms_read_as_people_say_them() -> None:
    assert [in_words(arm) for arm in (WITHOUT, APART)] == ["without bulk_lines", "bulk_lines apart"]
    assert disturber_of((AS_IS, APART)) == "bulk_lines"
