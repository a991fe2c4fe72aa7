from __future__ import annotations

from proofs.statistics.coverage import prove_coverage
from proofs.statistics.experiments import NOISES


def test_intervals_contain_the_truth():
    proof = prove_coverage(20, seed=4)
    assert {row["metric"] for row in proof["figures"]} == {"mean", "p50", "p90", "p95", "p99"}
    assert {"part of a hop difference", "part that does not differ"} <= {row["figure"] for row in proof["figures"]}
    assert set(proof["noises"]) == set(NOISES)
    for row in proof["figures"]:
        # 20 experiments scatter by 3 %, and their intervals are correlated.
        assert 0.86 < row["coverage"] <= 1
        assert row["intervals"] > 50


def test_the_proof_includes_break_even_distances():
    (row,) = [row for row in prove_coverage(3, seed=4)["figures"] if row["figure"] == "break-even"]
    # For all journeys together, and for the six that take the left topology one more round trip.
    assert row["intervals"] + row["refused"] == 3 * 7


def test_the_same_seed_gives_the_same_proof():
    assert prove_coverage(3, seed=9) == prove_coverage(3, seed=9)
    assert prove_coverage(3, seed=9) != prove_coverage(3, seed=10)
