"""A few real kills of the order service; `make chaos kills=200` is the long version."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from chaos.kills import run_kills
from chaos.shop import Shop
from mesh.paths import RunFolder
from mesh.ports import Ports, load_ports

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
KILLS = 8


def free_ports() -> Ports:
    """Ports from a base of which all that are used are free."""
    offsets = load_ports({}).offsets
    for base in range(21_000, 60_000, 400):
        ports = Ports(base, offsets)
        try:
            for name in offsets:
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", ports[name]))
        except OSError:
            continue
        return ports
    raise RuntimeError("no free range of ports")


def test_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    ports = free_ports()
    with Shop(ports, RunFolder.of(ports.base, tmp_path), {}) as shop:
        outcome = run_kills(shop, tmp_path / "journal.jsonl", kills=KILLS, customers=8, seed=1, progress=print)
    assert outcome.kills == KILLS
    assert outcome.customers["checkout acknowledged"] > KILLS
    assert outcome.kills_in_saga > 0
    assert outcome.wrong == []
    assert outcome.left == {}
    assert [finding for finding in outcome.findings if not finding.ok] == []
    assert {"acknowledged_kept", "acknowledged_once"} <= {finding.name for finding in outcome.findings}
