"""A few real kills of order, notification and the cache; `make chaos` and `make prove-cache` are the long versions."""

from __future__ import annotations

import pytest

from mesh.description.ports import Ports
from mesh.description.topology import SERVICES
from proofs.under_faults import cache, sagas
from proofs.under_faults.shop import new_shop

pytestmark = pytest.mark.timeout(300)
KILLS = 5


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, shop_ports: Ports) -> tuple[sagas.Outcome, cache.Outcome]:
    """Runs small versions of both proofs, on a shop with a cache and two replicas of each service."""
    # The tests of `make chaos` cover crashes during a saga with one replica.
    replicas = ",".join(f"{service}:2" for service in SERVICES)
    journal = tmp_path_factory.mktemp("kills") / "journal.jsonl"
    with new_shop(shop_ports, replicas=replicas, cached=cache.CACHED, environ={}) as shop:
        killed = sagas.run_kills(shop, journal, kills=KILLS, customers=8, seed=1, progress=print)
        raced = cache.run_races(shop, races=200, kills=1, seed=1, progress=print)
    cache.count_lookups(raced, shop)
    return killed, raced


def test_kills_lose_and_double_nothing(outcomes: tuple[sagas.Outcome, cache.Outcome]) -> None:
    outcome, _ = outcomes
    assert outcome.kills == KILLS
    assert outcome.customers["checkout acknowledged"] > KILLS
    assert outcome.kills_in_saga > 0
    assert outcome.wrong == []
    assert (outcome.left, outcome.unanswered) == ({}, 0)
    assert outcome.verdict == "VALID"
    assert [finding for finding in outcome.findings if not finding.ok] == []
    checked = {"acknowledged_kept", "acknowledged_once", "updates_told", "updates_counted"}
    assert checked <= {finding.name for finding in outcome.findings if finding.checked}


def test_changes_race_readers_behind_a_killed_cache(outcomes: tuple[sagas.Outcome, cache.Outcome]) -> None:
    _, outcome = outcomes
    assert outcome.failed == []
    assert (outcome.races, outcome.reads, outcome.kills, outcome.freezes) == (200, 1_200, 1, 1)
    assert outcome.hits > 0
    assert outcome.max_stale_s <= outcome.bound_s
    assert outcome.unexplained == 0
    assert outcome.verdict == "VALID"
