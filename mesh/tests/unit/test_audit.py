"""Which findings of a scanner fail the audit."""

from __future__ import annotations

import sys

import pytest

from provision.audit import passes

FOUND = "Vulnerability #{}: {}\n    A summary\n"


@pytest.mark.parametrize(
    ("code", "found", "passed"),
    [
        (0, [], True),
        (1, [], False),  # the scanner's database does not answer
        (3, ["GO-1", "GO-2"], True),
        (3, ["GO-1", "GO-3"], False),
    ],
)
def test_only_accepted_advisories_pass(
    code: int, found: list[str], passed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(FOUND.format(number, name) for number, name in enumerate(found, 1))
    scanner = [sys.executable, "-c", f"import sys; print({text!r}, end=''); sys.exit({code})"]
    assert passes("advisories", scanner, frozenset({"GO-1", "GO-2"})) is passed
    assert text in capsys.readouterr().out
