from __future__ import annotations

import pytest

from proofs.statistics import speeds


def test_a_gate_that_refuses_every_run_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert speeds.prove_speeds(12, 1)["holds"]
    monkeypatch.setattr(speeds, "speed_gate", lambda *_: {"ok": False})
    proof = speeds.prove_speeds(12, 1)
    assert not any(row["count"] for row in proof["valid"].values())
    assert not proof["holds"]
