from __future__ import annotations

from proofs.statistics.aa import prove_aa
from proofs.statistics.experiments import NOISES


def test_equal_topologies_hardly_ever_seem_to_differ():
    proof = prove_aa(15, seed=4)
    assert proof["holds"]
    assert set(proof["noises"]) == set(NOISES)
    assert 0.01 < proof["parts"]["rate"] < 0.12
    for row in proof["metrics"]:
        assert 0.01 < row["tests"]["rate"] < 0.12
        assert row["experiments"]["rate"] <= 0.2
