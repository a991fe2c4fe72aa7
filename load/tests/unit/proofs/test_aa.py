"""A/A experiments, a few of them."""

from __future__ import annotations

from proofs.aa import prove_aa
from proofs.experiments import NOISES


def test_equal_topologies_hardly_ever_seem_to_differ():
    found = prove_aa(15, seed=4)
    assert found["holds"]
    assert set(found["noises"]) == set(NOISES)
    assert 0.01 < found["parts"]["rate"] < 0.12
    for row in found["metrics"]:
        assert 0.01 < row["tests"]["rate"] < 0.12
        assert row["experiments"]["rate"] <= 0.2
