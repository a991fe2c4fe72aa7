"""Checks the project's English with Vale, and compares what Vale finds with a baseline that may only shrink."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provision.errors import SetupError
from provision.paths import ROOT
from provision.tools import VALE

CONFIGURATION = ROOT / ".vale.ini"
BASELINE = "docs/style/baseline.txt"
"""The baseline's path in the checkout; its lines have a file, a rule and the number of allowed findings."""
COMMENT_MARKS = {".go": "//", ".proto": "//", ".sql": "--", ".mk": "#", "Makefile": "#"}
"""The characters that begin a comment in each language, by a file's suffix or name."""
GENERATED = (
    "docs/settings.md",
    "docs/example/",
    "docs/style/",
    "services/shop/stubs/",
    "services/go/internal/stubs/",
    "proto/go/",
)
"""Generated files, whose text is checked in their sources."""
NO_COMPILER = "building Vale needs a C compiler, and there is none; set CC to name a compiler other than gcc."
MIN_WORDS = 4
"""Number of consecutive words that make a string in a program count as a sentence for people."""
TIMEOUT_S = 600
PROSE = re.compile(rf"(?:[A-Za-z][\w',`]*[ \n]+){{{MIN_WORDS - 1},}}[A-Za-z]")
PROGRAM = re.compile(
    r"\s*(?:(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH|GRANT|REVOKE|query|mutation|subscription)\b"
    r"|import [a-z]|if True:|#!|# HELP )"
)
"""The beginning of a program, or of a page of metrics, in a string."""
ARGUMENT = re.compile(r"[\w.*, ]{1,40}: ")
HEADING = re.compile(r"(?:Args|Attributes|Raises|Returns|Yields):$")

Counts = Mapping[tuple[str, str], int]
"""Number of findings, by file and rule."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in the text that breaks a rule.

    Attributes:
        file: Path of the file, below the checkout.
        line: Number of its line, from 1.
        advice: What to write instead.
    """

    file: str
    rule: str
    line: int
    advice: str


def check(root: Path = ROOT) -> int:
    """Compares today's findings with the baseline; returns the exit code, 1 if a file has more findings of a rule.

    Raises:
        SetupError: Vale cannot be built, fails or takes too long, or the baseline is malformed.
    """
    if not _build_vale():
        print(f"Skipped the check of the English, because {NO_COMPILER}")
        return 0
    present, allowed = findings(root, tracked_files(root)), read_baseline(root / BASELINE)
    now = count(present)
    grown = sorted(key for key, number in now.items() if number > allowed.get(key, 0))
    for finding in present:
        if (finding.file, finding.rule) in grown:
            print(f"{finding.file}:{finding.line}: {finding.rule}: {finding.advice}")
    for file, rule in grown:
        print(f"{file} has {now[file, rule]} findings of {rule}; the baseline allows {allowed.get((file, rule), 0)}.")
    if grown:
        print("Fix the new findings. If you moved text into a new file, run `make prose-baseline`.")
        return 1
    lower = sum(1 for key, number in allowed.items() if number > now.get(key, 0))
    if lower:
        counts = f"the counts on {lower} of the baseline's {len(allowed)} lines"
        print(f"The English improved: `make prose-baseline` can lower {counts}.")
    return 0


def lower_baseline(root: Path = ROOT) -> None:
    """Writes today's counts as the baseline.

    Raises:
        SetupError: A count would grow, Vale cannot be built or fails, or the baseline is malformed.
    """
    if not _build_vale():
        raise SetupError(f"the baseline needs Vale, but {NO_COMPILER}")
    now, path = count(findings(root, tracked_files(root))), root / BASELINE
    if path.exists():
        refuse_growth(read_baseline(path), now)
    write_baseline(path, now)
    print(f"The baseline has {sum(now.values())} findings in {len({file for file, _ in now})} files.")


def refuse_growth(allowed: Counts, now: Counts) -> None:
    """Lets counts shrink, and lets findings move into a file that the baseline does not have yet.

    Raises:
        SetupError: A file in the baseline has more findings of a rule, or all files together have more.
    """
    known = {file for file, _ in allowed}
    totals: Counter[str] = Counter()
    grown = []
    for file, rule in {**now, **allowed}:
        growth = now.get((file, rule), 0) - allowed.get((file, rule), 0)
        totals[rule] += growth
        grown += [f"{file} {rule}"] if file in known and growth > 0 else []
    grown += [f"all files together {rule}" for rule, growth in totals.items() if growth > 0]
    if grown:
        raise SetupError(f"the baseline may only shrink, and these counts grew: {', '.join(sorted(grown))}")


def count(present: Sequence[Finding]) -> Counts:
    """Counts findings per file and rule."""
    return Counter((finding.file, finding.rule) for finding in present)


def read_baseline(path: Path) -> Counts:
    """Reads the counts that are allowed. Of two lines for the same file and rule, which a merge can leave, the smaller
    number counts.

    Raises:
        SetupError: A line is malformed.
    """
    counts: dict[tuple[str, str], int] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), start=1):
        fields = line.split()
        if len(fields) != 3 or not fields[2].isdecimal():
            raise SetupError(f"{path.name}:{number}: {line!r} must consist of a file, a rule and a number.")
        key = (fields[0], fields[1])
        counts[key] = min(int(fields[2]), counts.get(key, int(fields[2])))
    return counts


def write_baseline(path: Path, counts: Counts) -> None:
    """Writes a line per file and rule, sorted."""
    path.write_text("".join(f"{file} {rule} {number}\n" for (file, rule), number in sorted(counts.items())))


def tracked_files(root: Path) -> list[str]:
    """Lists the files that Git has or would add, without generated ones."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"git cannot list the files of {root}: {error}") from error
    return [file for file in listed.stdout.splitlines() if not file.startswith(GENERATED) and (root / file).is_file()]


def findings(root: Path, files: Sequence[str]) -> list[Finding]:
    """Runs Vale over the prose in files below `root`; files in languages without a reader here are skipped."""
    lines_of: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for file in files:
            if prose := list(_prose_of(file, root)):
                lines_of[file] = [line for line, _ in prose]
                copy = Path(scratch, f"{file}.md")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text("\n".join(text for _, text in prose) + "\n")
        argv = [str(VALE.path), "--no-global", f"--config={CONFIGURATION}", "--output=JSON", "--no-exit", scratch]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S)
            by_file = json.loads(done.stdout or "{}")
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise SetupError(f"Vale cannot check the English: {error}") from error
        if done.returncode != 0:
            raise SetupError(f"Vale failed: {done.stdout.strip() or done.stderr.strip()}")
        present = []
        for path, alerts in by_file.items():
            file = str(Path(path).relative_to(scratch)).removesuffix(".md")
            for alert in alerts:
                lines = lines_of[file]
                line = lines[min(alert["Line"], len(lines)) - 1]
                present.append(Finding(file, alert["Check"].removeprefix("Hopwise."), line, alert["Message"]))
    return sorted(present, key=lambda each: (each.file, each.line, each.rule))


def _build_vale() -> bool:
    """Builds Vale if it is missing; returns whether this machine can do so."""
    if shutil.which(os.environ.get("CC") or "gcc") is None and not VALE.cached.exists():
        return False
    VALE.build()
    return True


def _prose_of(file: str, root: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file's prose as Markdown, each with the number of its line in the file."""
    path = Path(file)
    mark = COMMENT_MARKS.get(path.suffix) or COMMENT_MARKS.get(path.name)
    if path.suffix == ".md":
        yield from enumerate((root / file).read_text().splitlines(), start=1)
    elif path.suffix == ".py":
        yield from python_prose((root / file).read_text())
    elif mark:
        yield from comments((root / file).read_text(), mark)


def comments(text: str, mark: str) -> Iterator[tuple[int, str]]:
    """Yields the comments of a program, which begin with a mark.

    Consecutive lines of comments are a paragraph, and so is a comment after code.
    """
    comment = re.compile(rf"(^|.*\s){re.escape(mark)}+:? (.+)")
    last, was_behind_code = 0, False
    for number, line in enumerate(text.splitlines(), start=1):
        if match := comment.match(line):
            is_behind_code = bool(match.group(1).strip())
            if number > last + 1 or is_behind_code or was_behind_code:
                yield number, ""
            last, was_behind_code = number, is_behind_code
            yield number, match.group(2).strip()
    yield last, ""


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yields the prose of a Python program as paragraphs: comments, docstrings, other strings that read as sentences,
    and the names of functions, classes and constants."""
    yield from comments(text, "#")
    parts, docstrings = set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        if id(node) in parts:
            continue
        if name := _name(node):
            yield from ((node.lineno, name), (node.lineno, ""))  # type: ignore[attr-defined]
        if isinstance(node, ast.Expr):
            docstrings.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            parts.update(id(part) for part in node.values if isinstance(part, ast.Constant))
            string = "".join(str(part.value) if isinstance(part, ast.Constant) else "N" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            string = node.value
        else:
            continue
        if id(node) in docstrings or (PROSE.search(string) and not string.isupper() and not PROGRAM.match(string)):
            in_one_line = node.end_lineno == node.lineno or string.count("\n") != (node.end_lineno or 0) - node.lineno
            for offset, line in enumerate(string.splitlines()):
                yield from _paragraph(node.lineno + (0 if in_one_line else offset), line.strip())
            yield node.lineno, ""


def _paragraph(number: int, line: str) -> Iterator[tuple[int, str]]:
    """Yields a docstring's line. A line about an argument begins a paragraph; headings such as "Args:" are left out."""
    if ARGUMENT.match(line) or HEADING.match(line):
        yield number, ""
    if not HEADING.match(line):
        yield number, line


def _name(node: ast.AST) -> str:
    """The kind and name of a definition. Empty for other nodes, and for functions whose name may be an adjective:
    functions with a decorator, such as properties, and functions that return a bool."""
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        is_predicate = isinstance(node.returns, ast.Name) and node.returns.id == "bool"
        return "" if node.decorator_list or is_predicate else f"function {node.name}"
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        return ", ".join(f"constant {name}" for name in names if name.isupper())
    return ""
