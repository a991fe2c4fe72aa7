"""What the sidecars of a system say becomes what the gates look at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from experiment.trial.sidecars import sidecars_of
from hops.gates.trial import Sidecars
from mesh.sidecars.stats import SidecarFacts
from mesh.system import System


def system(facts: SidecarFacts | None, mtls: str = "on") -> System:
    """A system of two sidecars, one of them with an agent of its own name."""
    fake: Any = SimpleNamespace(
        sidecar_facts=lambda: facts,
        pids=lambda: {"order": [1], "order-sidecar": [2, 3], "edge-sidecar": [4], "istiod": [5]},
        switches=SimpleNamespace(mtls=mtls),
    )
    return cast("System", fake)


def test_without_a_mesh_there_is_nothing_to_ask() -> None:
    assert sidecars_of(system(None)) is None


@pytest.mark.parametrize(("answered", "silent"), [(2, 0), (1, 1)])
def test_a_sidecar_that_runs_and_does_not_answer_is_silent(answered: int, silent: int) -> None:
    facts = SidecarFacts(refused=3, unencrypted=1, sidecars=answered)
    assert sidecars_of(system(facts)) == Sidecars(silent=silent, refused=3, unencrypted=1, encrypted=True)


def test_without_mtls_nothing_need_be_encrypted() -> None:
    facts = SidecarFacts(refused=0, unencrypted=None, sidecars=2)
    assert sidecars_of(system(facts, mtls="off")) == Sidecars(silent=0, refused=0, unencrypted=None, encrypted=False)
