from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.e2e


def test_ctrl_c_stops_the_bench_and_its_children(terminal: Any) -> None:
    running = terminal.start("bench-serialisation")
    for line in running.stderr:
        if "round 1 of" in line:
            break
    terminal.interrupt(running)
    assert terminal.left_over() == []
