"""The parts of pages that programs write, each between `<!-- NAME -->` and `<!-- end of NAME -->`."""

from __future__ import annotations

from pathlib import Path

from experiment.errors import UsageError


def replace_marked(page: str, name: str, text: str) -> str:
    """Returns the page with new text between the marks of a name; raises UsageError unless each is there once."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise UsageError(f"the page must have each of the lines {begin.strip()} and {end.strip()} exactly once")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}{text}{end}{rest.partition(end)[2]}"


def write_marked(file: Path, name: str, text: str) -> None:
    """Replaces the text between the marks of a name in a file."""
    file.write_text(replace_marked(file.read_text(encoding="utf-8"), name, text), encoding="utf-8")
