"""What a pair of sidecars adds to a call."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hops.kinds.ladder.sidecar_pairs import sidecar_pairs

BLOCKS = 5
ADDED_MS = 0.4


def calls(rng, added_ms: float, *, count: int = 400, links=(("order", "product"), ("edge", "rest-gateway"))):
    """Calls over this many links, which take 1 ms plus the added time, and the clients' calls, which take 100 ms."""
    frames = []
    for block in range(1, BLOCKS + 1):
        for caller, callee in (*links, ("client", "edge")):
            ms = rng.gamma(4, 0.25, count) + added_ms + (100 if caller == "client" else 0)
            frames.append(pl.DataFrame({"between_ns": (ms * 1e6).astype(np.int64)}).with_columns(
                pl.lit(block).alias("block"), pl.lit(caller).alias("caller"), pl.lit(callee).alias("callee")
            ))  # fmt: skip
    return pl.concat(frames)


def compare(arms):
    blocks = {arm: set(range(1, BLOCKS + 1)) for arm in arms}
    return {(row["arm"], row["link"]): row for row in sidecar_pairs(arms, blocks)}


def test_what_is_added_is_found_over_all_links_and_in_each():
    rng = np.random.default_rng(1)
    rows = compare({"edge": calls(rng, 0.0), "sidecars": calls(rng, ADDED_MS), "istio": calls(rng, 2 * ADDED_MS)})
    links = ("all", "edge→rest-gateway", "order→product")
    assert list(rows) == [(arm, link) for arm in ("sidecars", "istio") for link in links]
    assert rows["istio", "all"]["calls"] == [4000, 4000]
    for (arm, _), row in rows.items():
        truth = ADDED_MS if arm == "sidecars" else 2 * ADDED_MS
        for name, apart in (("mean", 0.06), ("p99", 0.5)):
            low, high = row[name]["ci95"]
            assert low < row[name]["value"] < high
            assert row[name]["value"] == pytest.approx(truth, abs=apart)


def test_sidecars_in_a_cluster_are_compared_with_the_cluster_without_them():
    rng = np.random.default_rng(3)
    arms = {"edge": calls(rng, 0.0), "cluster": calls(rng, 5.0), "cluster-istio": calls(rng, 5.0 + ADDED_MS)}
    row = compare(arms)["cluster-istio", "all"]
    assert row["mean"]["value"] == pytest.approx(ADDED_MS, abs=0.06)


def test_intervals_hold_the_truth():
    rng = np.random.default_rng(2)
    held = {"mean": 0, "p99": 0}
    for _ in range(50):
        row = compare({"edge": calls(rng, 0.0), "mtls": calls(rng, ADDED_MS)})["mtls", "all"]
        for name in held:
            low, high = row[name]["ci95"]
            held[name] += low <= ADDED_MS <= high
    assert all(count >= 45 for count in held.values()), held


def test_a_link_that_only_one_arm_has_is_left_out():
    rng = np.random.default_rng(3)
    rows = compare({"edge": calls(rng, 0.0), "mtls": calls(rng, 0.0, links=[("order", "product"), ("order", "user")])})
    assert list(rows) == [("mtls", "all"), ("mtls", "order→product")]


def test_few_calls_give_a_figure_and_no_interval():
    rng = np.random.default_rng(4)
    row = compare({"edge": calls(rng, 0.0, count=50), "mtls": calls(rng, 0.0, count=50)})["mtls", "order→product"]
    assert row["p99"]["ci95"] == [None, None]
    assert row["p99"]["reason"] == "needs 1,000 calls, and there are 250"
    assert row["mean"]["reason"] is None


def test_without_the_arm_to_compare_with_there_is_nothing():
    assert compare({"mtls": calls(np.random.default_rng(5), 0.0)}) == {}
