"""The faults that conformance must notice: each can still be seeded, and breaks an existing law."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from experiment.errors import UsageError
from faulty import seeds
from mesh.paths import ROOT
from proofs.measurement import seeded_faults as module
from proofs.measurement.seeded_faults import faults_of, seeded_faults, try_laws


def test_each_fault_can_be_seeded_and_has_its_law() -> None:
    for fault in seeded_faults():
        assert (ROOT / fault.test.partition("::")[0]).exists()


def test_every_component_has_enough_faults() -> None:
    counts = Counter(fault.component for fault in seeded_faults())
    assert counts.total() >= 58
    assert set(counts) == {"product", "user", "order", "payment", "rest-gateway", "graphql-gateway"}
    assert min(counts.values()) >= 4
    assert len({(fault.component, fault.says) for fault in seeded_faults()}) == counts.total()


def test_a_fault_without_its_law_is_named() -> None:
    renamed = replace(seeded_faults()[0], law="nobody_knows")
    with pytest.raises(UsageError, match="0 suites of product have a test_nobody_knows"):
        _ = renamed.test
    with pytest.raises(UsageError, match=r"component=edge: .*valid: graphql-gateway, order, payment, product"):
        faults_of("edge")


@pytest.mark.parametrize(("found", "ok"), [("error", False), ("failure", True)])
def test_a_program_that_does_not_start_proves_nothing(found: str, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = f'<testcase file="test_suite.py" name="test_law"><{found} message="it ended"/></testcase>'
    results = ElementTree.fromstring(f"<testsuite>{case}</testsuite>")
    monkeypatch.setattr(module, "run_suites", lambda *_arguments: results)
    fault = seeded_faults()[0]
    tried = try_laws(fault.component, fault, [fault])
    assert (tried.fails, tried.ok) == (True, ok)


def original(size: int) -> int:
    return size


def test_a_fault_that_cannot_be_seeded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = seeds.change_result(original, lambda size: size + 1)
    with pytest.raises(TypeError, match="most"):
        seeds.change_arguments(original, most=str)
    monkeypatch.setattr(sys.modules[__name__], "original", None)
    with pytest.raises(LookupError, match=r"test_seeded_faults\.original has changed; adapt load/faulty"):
        seed()
    with pytest.raises(AttributeError, match="MOST"):
        seeds.set_constant(sys, "MOST", 1)()
    monkeypatch.setattr(module, "FAULTY", (sys.executable, "-c", "raise SystemExit('original is gone')"))
    with pytest.raises(UsageError, match="a fault can no longer be seeded: original is gone"):
        seeded_faults.__wrapped__()
