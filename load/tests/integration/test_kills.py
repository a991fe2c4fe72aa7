"""A few real kills of order, notification and the cache; `make chaos` and `make prove-cache` are the long versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mesh.description.ports import Ports
from mesh.description.topology import SERVICES
from mesh.paths import RunFolder
from proofs.cache import proof
from proofs.sagas import run_kills
from proofs.struck_shop import Shop

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
KILLS = 12


def test_kills_lose_and_double_nothing(tmp_path: Path, shop_ports: Ports) -> None:
    # With one of each, the crashes of the saga among the tests of `make chaos` show the same.
    ports = replace(shop_ports, replicas=dict.fromkeys(SERVICES, 2))
    with Shop(ports, RunFolder.of(shop_ports.base), {}) as shop:
        outcome = run_kills(shop, tmp_path / "journal.jsonl", kills=KILLS, customers=8, seed=1, progress=print)
    assert outcome.kills == KILLS
    assert outcome.customers["checkout acknowledged"] > KILLS
    assert outcome.kills_in_saga > 0
    assert outcome.wrong == []
    assert (outcome.left, outcome.unanswered) == ({}, 0)
    assert outcome.verdict == "VALID"
    assert [finding for finding in outcome.findings if not finding.ok] == []
    checked = {"acknowledged_kept", "acknowledged_once", "updates_told", "updates_counted"}
    assert checked <= {finding.name for finding in outcome.findings if finding.checked}


def test_changes_that_race_readers_behind_a_cache_that_is_killed(tmp_path: Path, shop_ports: Ports) -> None:
    outcome = proof(shop_ports, RunFolder.of(shop_ports.base), races=200, kills=1, seed=1, progress=print)
    assert outcome.failed == []
    assert (outcome.races, outcome.reads, outcome.kills, outcome.freezes) == (200, 1_200, 1, 1)
    assert outcome.hits > 0
    assert outcome.longest_stale_s <= outcome.bound_s
    assert outcome.unexplained == 0
    assert outcome.verdict == "VALID"
