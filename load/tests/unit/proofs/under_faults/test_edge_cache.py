from __future__ import annotations

from dataclasses import replace

import pytest

from hops.run.documents.gate import NOISY, VALID, WRONG
from mesh.description.topology import load_topology
from mesh.errors import InputError
from proofs.under_faults.edge_cache import BOUND_S, Outcome, doors_of

SOUND = Outcome(requests=100_000, changes=2_000, hits={"REST": 60_000}, missed=60, max_stale_s=0.03, max_request_s=0.4)


OUTCOMES = {
    "sound": (SOUND, VALID),
    "foreign": (replace(SOUND, foreign=["/v1/users/1 as 2: status 200 instead of 403"]), WRONG),
    "too old": (replace(SOUND, max_stale_s=BOUND_S + 0.5, late=1, other_cores=1.5), WRONG),
    "never taken out": (replace(SOUND, late=101, other_cores=1.5), WRONG),
    "late on a busy machine": (replace(SOUND, late=8, other_cores=1.5), NOISY),
    "late": (replace(SOUND, late=8), WRONG),
    "failed": (replace(SOUND, failed=["TimeoutError: "], other_cores=1.5), NOISY),
    "no hit": (replace(SOUND, hits={"REST": 60_000, "GraphQL": 0}), WRONG),
    "no change": (replace(SOUND, changes=0), WRONG),
}


@pytest.mark.parametrize(("outcome", "verdict"), OUTCOMES.values(), ids=OUTCOMES)
def test_the_verdict_depends_on_foreign_answers_and_old_prices(outcome: Outcome, verdict: str) -> None:
    assert outcome.verdict == verdict
    assert "100,000 requests" in outcome.sentences()[0]


@pytest.mark.parametrize(
    ("topology", "protocols"),
    [
        ("rest", ["REST"]),
        ("rest-bff", ["REST"]),
        ("hybrid", ["REST", "GraphQL"]),
        ("graphql-over-rest", ["REST", "GraphQL"]),
    ],
)
def test_customers_read_in_every_protocol_that_the_cache_keeps(topology: str, protocols: list[str]) -> None:
    assert [door.name for door in doors_of(load_topology(topology))] == protocols


def test_a_topology_whose_prices_cannot_change_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(InputError, match=r"topology=graphql: prices change over REST, .*; valid: rest, "):
        doors_of(load_topology("graphql"))
