from __future__ import annotations

from proofs.statistics.experiments import NOISES
from proofs.statistics.trace_sets import prove_trace_sets


def test_equal_sets_hardly_ever_differ_and_true_limits_are_hardly_ever_broken():
    proof = prove_trace_sets(12, seed=4)
    assert proof["holds"]
    assert [row["noise"] for row in proof["noises"]] == ["usual", *NOISES]
    assert proof["noises"][0]["different"]["of"] == 12
