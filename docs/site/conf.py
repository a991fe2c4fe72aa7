"""Configuration of Sphinx for `make docs`. The pages are the Markdown files of the checkout, as they are."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterable
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MERMAID = ROOT / ".tools" / "mermaid" / "mermaid.js"
"""The program that draws diagrams in the browser; without it, they stay text."""
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#:]+)\)")

project = "Hopwise"
author = "The Hopwise authors"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
root_doc = "README"
include_patterns = ["*.md", "[!.]*/README.md", "docs/**.md"]
exclude_patterns = [".*", "dist", "results", "site"]
extensions = ["myst_parser"]
myst_enable_extensions = ["html_image"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 6
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role"]  # GitHub shows them as text
smartquotes = False
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
html_theme = "furo"
html_title = f"Hopwise {release}"
html_show_copyright = False
html_sourcelink_suffix = ""
html_static_path = [str(path) for path in (DOCS / "site" / "diagrams.js", MERMAID) if path.exists()]


class Mermaid(Directive):
    """A fence with a diagram, which Mermaid draws in the browser."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Returns the diagram's text for Mermaid."""
        text = escape("\n".join(self.content))
        return [nodes.raw("", f'<pre class="mermaid">{text}</pre>', format="html")]


def prepare_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Makes Sphinx understand what GitHub does: comments, named anchors, links to folders. Adds the navigation."""
    folder = Path(app.env.doc2path(page)).parent

    def without_folder(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if not target.is_dir():
            return link[0]
        path = target.relative_to(ROOT).as_posix()
        return link[1] if path in link[1] else f"{link[1]} (`{path}`)"

    text = ANCHOR.sub(r"(\1)=", COMMENT.sub("", source[0]))
    source[0] = LINK.sub(without_folder, text) + NAVIGATION.get(page, "")


def prepare_html(app: Sphinx, _page: str, _template: str, context: dict[str, object], _tree: object) -> None:
    """Loads Mermaid on pages with diagrams, and opens linked files instead of saving them."""
    body = str(context.get("body", ""))
    if 'class="mermaid"' in body and MERMAID.exists():
        app.add_js_file(MERMAID.name, defer="defer")
        app.add_js_file("diagrams.js", defer="defer", priority=900)
    context["body"] = body.replace(' download=""', "")


def finish(app: Sphinx, error: Exception | None) -> None:
    """Adds the first page under the name that servers look for, and `llms.txt`, which links to the pages' Markdown."""
    if error is None:
        shutil.copyfile(app.outdir / f"{root_doc}.html", app.outdir / "index.html")
        links = (ROOT / "llms.txt").read_text(encoding="utf-8").replace("](", "](_sources/")
        (app.outdir / "llms.txt").write_text(links, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Registers what Sphinx calls while it builds."""
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", prepare_page)
    app.connect("html-page-context", prepare_html)
    app.connect("build-finished", finish)


def list_pages(files: Iterable[Path]) -> list[str]:
    """Names pages as Sphinx does, in the order of the files."""
    return [file.relative_to(ROOT).with_suffix("").as_posix() for file in files]


def list_contents(caption: str, pages: Iterable[str]) -> str:
    """Writes a part of the navigation."""
    return "\n".join(("", "", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""))


def navigate() -> dict[str, str]:
    """The navigation by the page that it hangs on: one part for each folder, and the decisions below their index."""
    first = [DOCS / "findings.md", DOCS / "README.md", DOCS / "tutorial.md"]
    decisions = DOCS / "adr" / "README.md"
    parts = {"Documentation": [*first, *(page for page in sorted(DOCS.glob("*.md")) if page not in first)]}
    for folder in sorted(DOCS.glob("*/")):
        parts[folder.name.capitalize()] = [] if folder == decisions.parent else sorted(folder.glob("*.md"))
    others = [*ROOT.glob("*.md"), *ROOT.glob("[!.]*/README.md")]
    parts["Development"] = [decisions, *sorted({*others} - {ROOT / "README.md", DOCS / "README.md"})]
    numbered = sorted(decisions.parent.glob("*/*.md"), key=lambda page: page.name)
    return {
        root_doc: "".join(list_contents(name, list_pages(pages)) for name, pages in parts.items() if pages),
        "docs/adr/README": list_contents("Decisions", [f"/{page}" for page in list_pages(numbered)]),
    }


NAVIGATION = navigate()
"""Text to add to pages."""
