from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mesh.description.ports import Ports
from proofs.under_faults import customers, sagas
from proofs.under_faults.crowd import have_finished, start


def test_a_call_without_an_answer_is_counted_and_is_not_a_wrong_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_ports: Callable[[], Ports]
) -> None:
    monkeypatch.setattr(customers, "ANSWER_LIMIT_S", 0.2)
    monkeypatch.setattr(customers, "ABANDONED", 0.0)
    buyers = customers.Customers(f"grpc://127.0.0.1:{free_ports().base}", tmp_path / "journal.jsonl", count=2, seed=1)
    crowd = start(buyers.run)
    while buyers.unanswered < 2:
        assert not have_finished(crowd, 0.05)
    buyers.stop()
    assert have_finished(crowd, 30)
    assert buyers.wrong == []


def test_a_shop_that_refuses_every_purchase_proves_nothing() -> None:
    refused = {"checkout refused: PERMISSION_DENIED": 9}
    outcome = sagas.Outcome(kills=1, customers=refused)
    assert outcome.verdict == "WRONG"
    assert "WRONG: no customer could buy anything" in outcome.sentences()
    assert sagas.Outcome(kills=1, customers={**refused, sagas.BOUGHT: 1}).verdict == "VALID"
