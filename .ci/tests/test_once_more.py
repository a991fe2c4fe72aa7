"""How CI treats failed tests: they are run once more, named, and counted."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
SCRIPT = Path(__file__).parents[1] / "once_more.py"
FEW_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist.plugin"}
"""Settings of pytest that save the nested runs the seconds that other plugins take to load."""
TESTS = """
import pathlib, pytest
before = pathlib.Path("before")

class TestAll:
    @pytest.mark.parametrize("name", ["a::b[c]"])
    def test_fails_once(self, name):
        if not before.exists():
            before.touch()
            assert False

def test_passes(): pass

@pytest.mark.parametrize("number", range(2))
def test_skipped(number): pytest.skip("no such program")
"""
CRASHES_ONCE = """
import os, pathlib

def test_crashes_once():
    if not pathlib.Path("crashed").exists():
        pathlib.Path("crashed").touch()
        os._exit(3)
"""
FAILS_TWICE = """
import pytest

@pytest.fixture
def broken():
    yield
    assert False

def test_fails_twice(broken): pass
"""
FAILS_ONCE = "TestAll::test_fails_once[a::b[c]]"
MANY = """
import pytest

@pytest.mark.parametrize("number", range(11))
def test_fails(number): assert False
"""


def run(folder: Path, command: str) -> tuple[int, list[str]]:
    """Runs a shell command like CI; returns the exit code and the lines of the report."""
    report = folder / "report"
    argv = [sys.executable, SCRIPT, report, "sh", "-ec", command]
    ended = subprocess.run(argv, cwd=folder, env=os.environ | FEW_PLUGINS, check=False)
    return ended.returncode, sorted(report.read_text().splitlines())


def run_pytest(folder: Path, **files: str) -> tuple[int, list[str]]:
    """Runs the tests in files like CI."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return run(folder, f"{shlex.quote(sys.executable)} -m pytest -q -n1 $PYTEST_FLAGS .")


def test_a_test_that_passes_the_second_time_is_flaky(tmp_path: Path) -> None:
    code, report = run_pytest(tmp_path, test_it=TESTS)
    assert code == 0
    assert report == [f"FLAKY: test_it.py::{FAILS_ONCE}", "SKIPPED   2: no such program"]


def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    code, report = run_pytest(tmp_path, test_crash=CRASHES_ONCE, test_it=TESTS, test_other=FAILS_TWICE)
    assert code == 1
    assert report[:3] == [
        "FAILED: test_other.py::test_fails_twice",
        "FLAKY: test_crash.py::test_crashes_once",
        f"FLAKY: test_it.py::{FAILS_ONCE}",
    ]


def test_files_that_cannot_be_collected_fail_the_run(tmp_path: Path) -> None:
    code, report = run_pytest(tmp_path, test_it=TESTS, test_broken="import nowhere")
    assert code == 1
    assert [line for line in report if "FAILED" in line and "test_broken" in line], report


def test_many_failures_are_no_accident(tmp_path: Path) -> None:
    code, report = run_pytest(tmp_path, test_it=TESTS, test_many=MANY)
    assert code == 1
    assert f"FAILED: test_it.py::{FAILS_ONCE}" in report
    assert len(report) == 13


def test_a_command_that_fails_before_its_tests_is_run_again(tmp_path: Path) -> None:
    says = r"printf -- '--- FAIL: TestTape (0.1s)\nFAIL\thopwise/tape\t0.2s\n'"
    assert run(tmp_path, f"test -e before || {{ touch before; {says}; exit 1; }}") == (
        0,
        ["FLAKY: TestTape", "FLAKY: hopwise/tape"],
    )


def test_a_command_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    assert run(tmp_path, "exit 3") == (1, ["FAILED: sh -ec 'exit 3'"])
