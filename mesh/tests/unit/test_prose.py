from __future__ import annotations

from pathlib import Path

import pytest

from provision import prose
from provision.errors import SetupError

PROGRAM = '''\
"""Reads spans.

Args:
    path: File to read.
"""

MAX_SPANS = 5  # a batch
QUERY = "SELECT one thing FROM some table"
CODES = "AED AFN ALL AMD"


def decode_spans(path):
    raise ValueError(
        f"The file {path} has "
        "no spans at all."
    )


@property
def failed(self):
    return "key"
'''


def lines(prose_of: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted((number, text) for number, text in prose_of if text)


def test_python_gives_docstrings_comments_messages_and_names() -> None:
    assert lines(list(prose.python_prose(PROGRAM))) == [
        (1, "Reads spans."),
        (4, "path: File to read."),
        (7, "a batch"),
        (7, "constant MAX_SPANS"),
        (8, "constant QUERY"),
        (9, "constant CODES"),
        (12, "function decode_spans"),
        (14, "The file N has no spans at all."),
    ]


def test_an_argument_begins_a_paragraph() -> None:
    texts = [text for _, text in prose.python_prose(PROGRAM)]
    assert texts[texts.index("path: File to read.") - 1] == ""


def test_a_program_in_a_string_is_not_prose() -> None:
    assert list(prose.python_prose('CODE = "import sys, time, pathlib"\n')) == [(0, ""), (1, "constant CODE"), (1, "")]


def test_comments_on_consecutive_lines_are_a_paragraph() -> None:
    program = "// A queue that\n// waits.\nx := 1 // first\ny := 2 // second\n//go:build tools\n"
    assert list(prose.comments(program, "//")) == [
        *((1, "A queue that"), (2, "waits.")),
        *((3, ""), (3, "first")),
        *((4, ""), (4, "second"), (4, "")),
    ]
    targets = "setup: a ## Build what is missing\n"
    assert lines(list(prose.comments(targets, "#"))) == [(1, "Build what is missing")]


def test_the_baseline_is_sorted_and_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "baseline.txt"
    counts = {("b.md", "Terms"): 2, ("a.md", "Terms"): 1, ("a.md", "Phrases"): 3}
    prose.write_baseline(path, counts)
    assert path.read_text() == "a.md Phrases 3\na.md Terms 1\nb.md Terms 2\n"
    assert prose.read_baseline(path) == counts
    assert prose.read_baseline(tmp_path / "absent.txt") == {}


def test_of_two_lines_that_a_merge_left_the_smaller_number_counts(tmp_path: Path) -> None:
    path = tmp_path / "baseline.txt"
    path.write_text("a.md Terms 1\na.md Terms 4\nb.md Terms 3\nb.md Terms 2\n")
    assert prose.read_baseline(path) == {("a.md", "Terms"): 1, ("b.md", "Terms"): 2}


@pytest.mark.parametrize("line", ["a.md Terms", "a.md Terms many", "<<<<<<< HEAD a b"])
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "baseline.txt"
    path.write_text(f"a.md Terms 1\n{line}\n")
    with pytest.raises(SetupError, match=r"baseline\.txt:2: "):
        prose.read_baseline(path)


ALLOWED = {("a.md", "Terms"): 2, ("b.md", "Terms"): 1}


@pytest.mark.parametrize(
    "now",
    [
        ALLOWED,
        {("a.md", "Terms"): 1},
        {},
        # Text that moves into a new file takes its findings with it.
        {("b.md", "Terms"): 1, ("c.md", "Terms"): 2},
    ],
)
def test_the_baseline_may_shrink(now: prose.Counts) -> None:
    prose.refuse_growth(ALLOWED, now)


@pytest.mark.parametrize(
    ("now", "named"),
    [
        ({("a.md", "Terms"): 3}, "a.md Terms"),
        ({("b.md", "Terms"): 2}, "b.md Terms"),
        ({("a.md", "Phrases"): 1}, "a.md Phrases"),
        (ALLOWED | {("c.md", "Terms"): 1}, "all files together Terms"),
    ],
)
def test_the_baseline_may_not_grow(now: prose.Counts, named: str) -> None:
    with pytest.raises(SetupError, match=f"may only shrink.*{named}"):
        prose.refuse_growth(ALLOWED, now)
