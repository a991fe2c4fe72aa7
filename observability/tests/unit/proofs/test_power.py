"""What is shown more often, on few experiments."""

from __future__ import annotations

import pytest

from hops.proofs.experiments import NOISES
from hops.proofs.power import measure_power


def test_larger_differences_are_shown_more_often_and_shifts_of_whole_blocks_hide_none():
    cells = measure_power(4, seed=3)["cells"]
    by_step = {cell["step"]: cell["mix"]["share"] for cell in cells if cell["about"] == "step"}
    assert by_step[0.3] > 0.9
    assert by_step[0.05] < 0.7
    by_blocks = {cell["blocks"]: cell["mix"]["share"] for cell in cells if cell["about"] == "blocks"}
    assert by_blocks[3] < 0.3 < 0.6 < by_blocks[15]
    by_noise = {cell["noise"]: cell["mix"]["share"] for cell in cells if cell["about"] == "noise"}
    assert by_noise["blocks shift by 20 %, trials by 5 %"] == pytest.approx(by_step[0.1], abs=0.4)
    assert set(NOISES) < set(by_noise)
