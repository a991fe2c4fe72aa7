"""The sidecars' counts become evidence for the gates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from experiment.trial.replay import sidecars_of
from hops.gates.trial import Sidecars
from mesh.native.system import System
from mesh.sidecars.stats import SidecarFacts


def system(facts: SidecarFacts | None, *, encrypted: bool = True) -> System:
    fake: Any = SimpleNamespace(sidecar_facts=lambda: facts, switches=SimpleNamespace(encrypted=encrypted))
    return cast("System", fake)


def test_without_a_mesh_there_is_no_evidence() -> None:
    assert sidecars_of(system(None)) is None


def test_facts_become_evidence() -> None:
    facts = SidecarFacts(refused=3, unencrypted=1, silent=2)
    assert sidecars_of(system(facts)) == Sidecars(silent=2, refused=3, unencrypted=1, encrypted=True)


def test_without_mtls_no_call_need_be_encrypted() -> None:
    facts = SidecarFacts(refused=0, unencrypted=None, silent=0)
    plain = Sidecars(silent=0, refused=0, unencrypted=None, encrypted=False)
    assert sidecars_of(system(facts, encrypted=False)) == plain
