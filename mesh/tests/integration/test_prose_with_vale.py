"""Vale's findings with the project's rules, and the messages of `make lint`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from provision import prose
from provision.errors import SetupError

LONG = "The gateway waits " + "and waits " * 14 + "for it."
BAD = {
    "Phrases": "The edge has a socket of its own.\n\nWhoever asks is told so.\n\nIt stands beside the sidecar.\n",
    "Terms": "Each budget line is a share.\n",
    "Sentences": f"{LONG}\n",
}
GOOD = """The gateway closes the socket after 5 s. A part of a hop budget is a share.

Code is not prose: `of_its_own`.

```
whoever of its own
```
"""
PROGRAM = '''"""Names."""

MOST_CALLS = 3


def told():
    raise ValueError("Give the file whatever name you like.")
'''

pytestmark = pytest.mark.skipif(not prose.VALE.cached.exists(), reason="Vale is not built (make lint-prose)")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True, timeout=30)
    (tmp_path / prose.BASELINE).parent.mkdir(parents=True)
    (tmp_path / "good.md").write_text(GOOD)
    return tmp_path


def test_good_english_passes_and_each_rule_finds_what_breaks_it(checkout: Path) -> None:
    for rule, text in BAD.items():
        (checkout / f"{rule}.md").write_text(text)
    (checkout / "program.py").write_text(PROGRAM)
    found = prose.findings(checkout, prose.tracked_files(checkout))
    assert {(each.file, each.rule, each.line) for each in found} == {
        ("Phrases.md", "Phrases", 1),
        ("Phrases.md", "Phrases", 3),
        ("Phrases.md", "Phrases", 5),
        ("Terms.md", "Terms", 1),
        ("Sentences.md", "Sentences", 1),
        ("program.py", "Names", 3),
        ("program.py", "Names", 6),
        ("program.py", "Phrases", 7),
    }


def test_a_new_finding_fails_with_its_place_and_advice(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prose.check(checkout) == 0
    (checkout / "page.md").write_text("Good.\n\nA reader gets whatever comes.\n")
    assert prose.check(checkout) == 1
    printed = capsys.readouterr().out
    assert "page.md:3: Phrases: Write 'any', 'every'" in printed
    assert "page.md has 1 findings of Phrases; the baseline allows 0." in printed


def test_the_baseline_follows_what_is_mended_and_no_more(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, baseline = checkout / "page.md", checkout / prose.BASELINE
    page.write_text("Whatever comes.\n\nWhoever comes.\n")
    prose.lower_baseline(checkout)
    assert baseline.read_text() == "page.md Phrases 2\n"
    page.write_text("Whatever comes.\n")
    assert prose.check(checkout) == 0
    assert "`make prose-baseline` can lower the counts on 1 of the baseline's 1 lines" in capsys.readouterr().out
    prose.lower_baseline(checkout)
    assert baseline.read_text() == "page.md Phrases 1\n"
    page.write_text("Whatever comes.\n\nWhoever comes.\n")
    assert prose.check(checkout) == 1
    with pytest.raises(SetupError, match=r"page\.md Phrases"):
        prose.lower_baseline(checkout)
    assert baseline.read_text() == "page.md Phrases 1\n"


def test_without_a_compiler_the_check_says_that_it_was_skipped(
    checkout: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOPWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("CC", "no-such-compiler")
    assert prose.check(checkout) == 0
    assert "Skipped the check of the English" in capsys.readouterr().out
    with pytest.raises(SetupError, match="C compiler"):
        prose.lower_baseline(checkout)
