"""The documentation links to pages, headings, files and folders that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mesh.paths import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/**/*.md")})
LINK = re.compile(r"\]\(([^)\s]+)\)")
IN_CHECKOUT = re.compile(
    r"`((?:services|graphql-gateway|rest-gateway|gateway|mesh|load|observability|proto|docs|images|compose)/[\w./-]+)`"
)
TEST = re.compile(r"`([\w./-]+\.py)::(\w+)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b(?!\.md)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page: of its headings, and those named by `<a id="…">`."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    named = re.findall(r'<a id="([\w-]+)">', text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | {*named}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in LINK.findall(text):
        if link.startswith(("http:", "https:")):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not fragment or fragment in anchors(target), link
    for file, test in TEST.findall(text):
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test
    for path in IN_CHECKOUT.findall(text):
        assert PLACEHOLDER.search(path) or (ROOT / path).exists(), path


def test_every_page_is_in_an_index() -> None:
    docs = ROOT / "docs"
    for folder, with_own in ((docs, {"adr", "example"}), (docs / "adr", set())):
        index = {link.partition("#")[0] for link in LINK.findall((folder / "README.md").read_text(encoding="utf-8"))}
        pages = {page.relative_to(folder) for page in folder.rglob("*.md")}
        assert {str(page) for page in pages if page.parts[0] not in with_own} - index == {"README.md"}
