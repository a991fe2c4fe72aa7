from __future__ import annotations

import pytest

from proofs.statistics.experiments import NOISES
from proofs.statistics.power import CELLS, measure_power

SHIFTED_BLOCKS = "blocks shift by 20 %, trials by 5 %"
CHOSEN = {("step", 0.05), ("step", 0.1), ("step", 0.3), ("blocks", 3), ("blocks", 15), ("noise", SHIFTED_BLOCKS)}
"""The cells to measure; each takes a moment."""


def test_larger_differences_are_shown_more_often_and_shifts_of_whole_blocks_hide_none():
    places = {"step": 4, "blocks": 1, "noise": 3}
    chosen = [cell for cell in CELLS if (cell[0], cell[places[cell[0]]]) in CHOSEN]
    cells = measure_power(4, seed=3, chosen=chosen)["cells"]
    assert len(cells) == len(CHOSEN)
    by_step = {cell["step"]: cell["mix"]["share"] for cell in cells if cell["about"] == "step"}
    assert by_step[0.3] > 0.9
    assert by_step[0.05] < 0.7
    by_blocks = {cell["blocks"]: cell["mix"]["share"] for cell in cells if cell["about"] == "blocks"}
    assert by_blocks[3] < 0.3 < 0.6 < by_blocks[15]
    (shifted,) = [cell["mix"]["share"] for cell in cells if cell["about"] == "noise"]
    assert shifted == pytest.approx(by_step[0.1], abs=0.4)


def test_every_noise_has_a_cell():
    assert set(NOISES) < {name for about, _, _, name, _ in CELLS if about == "noise"}
