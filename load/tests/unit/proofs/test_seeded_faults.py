"""The faults that conformance must notice: each is still where it was seeded, and breaks a law that is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from experiment.errors import UsageError
from experiment.proofs.conformance import PACKAGES, copy_with, faults_of
from experiment.proofs.seeded_faults import FAULTS, Fault
from mesh.paths import ROOT


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.component}: {fault.says}")
def test_each_fault_has_its_place_and_its_law(fault: Fault) -> None:
    file = ROOT / PACKAGES[fault.file.partition("/")[0]] / fault.file
    assert file.read_text().count(fault.before) == 1
    assert fault.before != fault.after
    assert f"def test_{fault.law}(" in (ROOT / fault.suite).read_text()


def test_there_are_enough_of_them_of_every_component() -> None:
    counts = Counter(fault.component for fault in FAULTS)
    assert counts.total() >= 25
    assert set(counts) == {"product", "user", "order", "payment", "rest-gateway", "graphql-gateway"}
    assert min(counts.values()) >= 4
    assert len({(fault.component, fault.says) for fault in FAULTS}) == len(FAULTS)


def test_a_fault_that_has_lost_its_place_is_named() -> None:
    moved = copy_with(replace(FAULTS[0], file="shop/user/service.py"))
    with pytest.raises(UsageError, match=r"shop/user/service.py has the text of the fault .* 0 times"), moved:
        pass
    with pytest.raises(UsageError, match=r"component=edge: .*valid: graphql-gateway, order, payment, product"):
        faults_of("edge")
