"""`make docs` on a small checkout: what the site has, and that a broken link makes the build fail."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mesh.paths import ROOT

PYTHON = ROOT / ".tools" / "docs" / "bin" / "python"
pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="Sphinx is not installed (make docs)"),
]
PAGES = {
    "README.md": "# Shop\n\n[Found](docs/findings.md#small) by [topologies](mesh/topologies) and "
    "[hybrid](mesh/topologies/hybrid.yaml).\n\n<!-- a -->\n<img src='docs/answer.svg' alt='Answer'>\n",
    "docs/README.md": "# By question\n\n[Decisions](adr/README.md)\n",
    "docs/findings.md": '# Findings\n\n[Below](#rule)\n\n## Small\n\n<a id="rule"></a>\n\n## Large\n\nZebra.\n',
    "docs/tutorial.md": "# Tutorial\n\n```mermaid\nflowchart LR\n  a --> b\n```\n",
    "docs/adr/README.md": "# Decisions\n",
    "docs/adr/shop/001-first.md": "# 001: First\n",
    "docs/answer.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "mesh/topologies/hybrid.yaml": "entry: edge\n",
    "llms.txt": "# Shop\n\n- [Findings](docs/findings.md)\n",
}


def build(checkout: Path, **changes: str) -> tuple[int, str, Path]:
    """Builds the site of a checkout with these pages; returns the exit code, the warnings and the site."""
    for name, text in {**PAGES, **changes}.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    shutil.copytree(ROOT / "docs" / "site", checkout / "docs" / "site")
    shutil.copy(ROOT / "pyproject.toml", checkout)
    make = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^\t@(\.tools/docs/bin/python -m sphinx .+)$", make, re.MULTILINE)
    assert recipe is not None
    argv = [str(PYTHON), *recipe[1].split()[1:]]
    built = subprocess.run(argv, cwd=checkout, capture_output=True, text=True, check=False)
    return built.returncode, built.stderr, checkout / "site"


def test_a_site_works_without_a_server_and_the_internet(tmp_path: Path) -> None:
    code, warnings, site = build(tmp_path)
    assert (code, warnings) == (0, "")
    home = (site / "index.html").read_text()
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//', home)
    assert 'href="docs/findings.html#small"' in home
    assert 'download=""' not in home
    assert "topologies (<code" in home
    assert 'src="_images/answer.svg"' in home
    download = re.search(r'href="(_downloads/\w+/hybrid.yaml)"', home)
    assert download is not None
    assert (site / download[1]).read_text() == "entry: edge\n"
    links = re.findall(r'<a class="reference internal" href="([\w/.-]+\.html)">', home)
    assert links[0] == "docs/findings.html"
    assert "docs/adr/shop/001-first.html" in links
    assert '<pre class="mermaid">flowchart LR\n  a --&gt; b</pre>' in (site / "docs" / "tutorial.html").read_text()
    assert "zebra" in (site / "searchindex.js").read_text()
    [link] = re.findall(r"\]\((.+)\)", (site / "llms.txt").read_text())
    assert (site / link).read_text() == PAGES["docs/findings.md"]


def test_each_broken_link_is_named_and_fails(tmp_path: Path) -> None:
    broken = ("docs/lost.md", "docs/findings.md#lost", "mesh/lost", "mesh/lost.yaml", "#lost", "docs/lost.svg")
    links = "\n\n".join(f"[text]({link})" for link in broken[:-1])
    code, warnings, _ = build(tmp_path, **{"README.md": f"# Shop\n\n{links}\n\n![picture]({broken[-1]})\n"})
    assert code == 1
    lines = [int(number) for number in re.findall(r"README\.md:(\d+): WARNING", warnings)]
    assert sorted(lines) == [3, 5, 7, 9, 11, 13]
