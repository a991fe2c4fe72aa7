from __future__ import annotations

from xml.etree import ElementTree

import pytest

from experiment.parity.contract_tests import laws_of


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "AssertionError: Regex pattern did not match.\n  Expected regex: 'voided'\n  Actual message: 'no'",
            "grpc: AssertionError: Regex pattern did not match.; Expected regex: 'voided'; Actual message: 'no'",
        ),
        (
            "assert (<P...''), 0) == (<P...'EUR'), 0)\n  \n  At index 1 diff: '' != 'EUR'\n  Use -v to get more diff",
            "grpc: assert (<P...''), 0) == (<P...'EUR'), 0); At index 1 diff: '' != 'EUR'",
        ),
        ("shop.errors.NotFound: none\n  more", "grpc: shop.errors.NotFound: none"),
        ("", "grpc: failed"),
    ],
)
def test_a_failed_law_shows_the_difference(message: str, expected: str) -> None:
    results = ElementTree.Element("testsuite")
    case = ElementTree.SubElement(results, "testcase", {"file": "a/test_payments.py", "name": "test_life[grpc]"})
    ElementTree.SubElement(case, "failure", {"message": message})
    (law,) = laws_of(results)
    assert law.failed == [expected]
