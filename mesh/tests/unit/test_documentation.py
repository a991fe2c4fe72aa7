"""The documentation names files and tests that exist, and indexes have every page; `make docs` checks the links."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from mesh.paths import ROOT

DOCS = ROOT / "docs"
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("[!.]*/README.md"), *DOCS.glob("**/*.md")})
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
IN_CHECKOUT = re.compile(
    r"`((?:services|graphql-gateway|rest-gateway|gateway|mesh|load|observability|proto|docs|images|compose)/[\w./-]+)`"
)
TEST = re.compile(r"`([\w./-]+\.py)::(\w+)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b(?!\.md)")


def links_of(page: Path) -> set[Path]:
    return {(page.parent / link).resolve() for link in LINK.findall(page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_and_tests_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for file, test in TEST.findall(text):
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test
    for path in IN_CHECKOUT.findall(text):
        assert PLACEHOLDER.search(path) or (ROOT / path).exists(), path


def test_every_page_is_in_an_index() -> None:
    decisions = {page for page in PAGES if page.is_relative_to(DOCS / "adr")}
    pages = {page for page in PAGES if page.is_relative_to(DOCS)} - decisions
    assert decisions - links_of(DOCS / "adr" / "README.md") == {DOCS / "adr" / "README.md"}
    assert pages - links_of(DOCS / "README.md") == {DOCS / "README.md", DOCS / "example" / "report.md"}


def test_programs_that_read_find_every_page_but_each_decision() -> None:
    listed = links_of(ROOT / "llms.txt")
    assert {page for page in PAGES if page.parent.parent != DOCS / "adr"} == listed


def test_a_version_has_one_number_and_one_day() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert citation["version"] == version
    assert released[0] == f"{version} ({citation['date-released']})"
    assert f"hopwise-{version}-py3-none-any.whl" in (DOCS / "results" / "hop-budget.md").read_text(encoding="utf-8")
