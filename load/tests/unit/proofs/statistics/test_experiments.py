from __future__ import annotations

import pytest

from proofs.statistics.experiments import rate


def test_a_rate_has_clopper_and_pearsons_interval():
    share = rate(0, 20)
    assert share["ci95"] == pytest.approx([0, 1 - 0.025 ** (1 / 20)])
    assert rate(0, 0)["ci95"] == [0.0, 1.0]
