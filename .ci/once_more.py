"""Runs a command, and what fails in it once more, alone, so that a busy machine does not fail a change.

    python .ci/once_more.py REPORT make test

Failed tests of pytest are run again one after another. A command that fails before pytest starts, for example by a test
in Go, is run again as a whole: Go repeats only its failed packages. What passes the second time is FLAKY, what fails
again is FAILED. REPORT gets a line for each, and a line for each reason for which tests were skipped.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

MAX_RERUNS = 10
"""More tests than this do not fail by accident, so they are not run again."""
RERUN_LIMIT_S = 240
"""Time limit of all repeated tests together."""
SHORT_S = 300
"""A command that took longer than this is not run again as a whole."""
_GO_FAILED = re.compile(r"^\s*--- FAIL: (\S+)|^FAIL\t(\S+)", re.MULTILINE)
_STEP_SKIPPED = re.compile(r"^(Skipped .*)$", re.MULTILINE)


@dataclass
class Outcomes:
    """The outcomes of the tests of one run of pytest, by their node ids, and why some were skipped."""

    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)


def read_outcomes(results: Path) -> Outcomes:
    """Reads results in JUnit's XML; without the file there are no outcomes."""
    outcomes = Outcomes()
    if not results.exists():
        return outcomes
    for case in ElementTree.parse(results).iter("testcase"):  # noqa: S314 - pytest wrote it in this run
        node = _node_id(case)
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcomes.failed.add(node)
        elif skipped is not None:
            outcomes.skipped[skipped.get("message", "")] += 1
        else:
            outcomes.passed.add(node)
    outcomes.passed -= outcomes.failed  # a test that passes may fail in its teardown
    return outcomes


def _node_id(case: ElementTree.Element) -> str:
    """Returns the id under which pytest finds a test; for a file that cannot be collected, its name."""
    file, name = case.get("file", ""), case.get("name", "")
    classes = case.get("classname", "").removeprefix(file.removesuffix(".py").replace("/", "."))
    return "::".join(filter(None, [file, *classes.split("."), name]))


def run_once_more(command: Sequence[str], folder: Path) -> Iterator[str]:
    """Runs a command, and its failures once more; yields the lines of the report.

    Args:
        command: The command, which passes PYTEST_FLAGS to pytest.
        folder: An empty folder for pytest's results.
    """
    results = folder / "first.xml"
    junit = ["-o", "junit_family=xunit1"]
    environment = os.environ | {"PYTEST_FLAGS": shlex.join([f"--junitxml={results}", *junit])}
    start = time.monotonic()
    code, said = _stream(command, environment)
    if code and not results.exists():
        names = ["".join(name) for name in _GO_FAILED.findall(said)] or [shlex.join(command)]
        if time.monotonic() - start < SHORT_S:
            print(f"Once more: {shlex.join(command)}", flush=True)
            code, said = _stream(command, environment)
        ended = code and not results.exists()
        yield from (f"{'FAILED' if ended else 'FLAKY'}: {name}" for name in names)
        if ended:
            return
    outcomes = read_outcomes(results)
    outcomes.skipped.update(_STEP_SKIPPED.findall(said))
    yield from (f"SKIPPED {count:3}: {reason}" for reason, count in outcomes.skipped.items())
    if not code:
        return
    if not outcomes.failed:
        yield f"FAILED: {shlex.join(command)}, without a failed test"
        return
    passed = set()
    if len(outcomes.failed) <= MAX_RERUNS:
        print(f"Once more, alone: {' '.join(sorted(outcomes.failed))}", flush=True)
        again = folder / "again.xml"
        pytest = [sys.executable, "-m", "pytest", "-q", "-n0", f"--junitxml={again}", *junit, *sorted(outcomes.failed)]
        try:
            subprocess.run(pytest, check=False, timeout=RERUN_LIMIT_S)  # noqa: S603
        except subprocess.TimeoutExpired:
            print(f"Not all failed tests ended within {RERUN_LIMIT_S} s", file=sys.stderr)
        passed = read_outcomes(again).passed
    yield from (f"{'FLAKY' if node in passed else 'FAILED'}: {node}" for node in sorted(outcomes.failed))


def _stream(command: Sequence[str], environment: dict[str, str]) -> tuple[int, str]:
    """Runs a command and shows its output; returns its exit code and output."""
    printed = bytearray()
    with subprocess.Popen(  # noqa: S603
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        while chunk := os.read(process.stdout.fileno(), 65_536):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            printed += chunk
    return process.returncode, printed.decode(errors="replace")


def main() -> int:
    """Runs the command; returns 1 if anything failed twice."""
    report, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        lines = list(run_once_more(command, Path(folder)))
    with Path(report).open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return int(any(line.startswith("FAILED") for line in lines))


if __name__ == "__main__":
    sys.exit(main())
