"""Which licences are let through, and when an audit is complete."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mesh.paths import ROOT

sys.path.insert(0, str(ROOT / "mesh"))  # set-up runs from the checkout, before anything is installed

from provision.supply_chain import checks, contents
from provision.supply_chain.audit import FOUND, INCOMPLETE, lines, verdict
from provision.supply_chain.checks import Check, Finding


@pytest.fixture(autouse=True)
def _rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "table.toml"
    file.write_text(
        """[licences]
        allowed = ["MIT", "Apache-2.0"]
        spelled = {"Apache 2.0" = "Apache-2.0"}
        exceptions = {linked = "It can be replaced."}"""
    )
    monkeypatch.setattr(checks, "TABLE", file)


def component(name: str, *stated: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": "1",
        "purl": f"pkg:pypi/{name}@1",
        "licenses": [{"expression": it} for it in stated],
    }


@pytest.mark.parametrize(
    ("stated", "refused"),
    [
        (["MIT"], False),
        (["Apache 2.0"], False),
        (["MIT AND (Apache-2.0 OR MIT)"], False),
        (["Grudging-Licence-1.0"], True),
        (["MIT AND Grudging-Licence-1.0"], True),
        (["MIT", "Grudging-Licence-1.0"], True),
        ([], True),  # silence allows nothing
    ],
)
def test_a_licence_that_is_not_allowed_is_found(stated: list[str], refused: bool) -> None:
    check = contents.licences({"python": [component("some.Package", *stated)]}, {"some-package": "1"})
    assert [finding.where for finding in check.findings] == ["some-package 1"] * refused
    assert verdict([check]) == (FOUND if refused else 0)


def test_an_exception_has_its_reason_and_a_missing_package_is_named() -> None:
    check = contents.licences({"python": [component("linked", "LGPL-3.0-only")]}, {"linked": "1", "absent": "2"})
    assert [finding.reason for finding in check.findings] == ["It can be replaced."]
    assert check.unchecked == ["absent 2: it is not installed"]
    assert verdict([check]) == INCOMPLETE


def test_what_is_not_shipped_may_have_any_licence() -> None:
    assert not contents.licences({"python": [component("tool", "GPL-2.0-only")]}, {}).findings


@pytest.mark.parametrize(
    ("name", "refused"), [("hopwise/load", False), ("../proto/go", False), ("example.com/x", True)]
)
def test_the_projects_own_modules_need_no_licence_of_their_own(name: str, refused: bool) -> None:
    assert bool(contents.licences({"shopload": [component(name)]}, {}).findings) == refused


def test_what_was_not_looked_at_is_never_called_clean() -> None:
    blind = Check("advisories", "nothing", unchecked=["3 packages: the database does not answer"])
    said = "\n".join(lines([blind]))
    assert "NOT CHECKED  3 packages: the database does not answer" in said
    assert "no clean bill" in said
    assert verdict([blind]) == INCOMPLETE
    assert verdict([blind, Check("secrets", "1 commit", [Finding("file:1", "key", "since")])]) == FOUND
