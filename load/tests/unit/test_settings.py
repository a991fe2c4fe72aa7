"""A switch is declared once: an entry more, and every command, make, the docs and the results know it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from experiment.settings import MAKE, PAGE
from mesh.paths import ROOT

SWITCHES = Path("mesh/mesh/description/switches.py")
LAST = "    networks: Mapping[str, Network] ="
ENTRY = """\
    sparkle: str = entry(
        "no", choice("Whether answers sparkle", "no", "yes"), layer="clients", commands=(UP,), needs=AN_EDGE
    )
"""
RECORD = (
    "import sys; from mesh.description.switches import parse_switches; print(parse_switches(sparkle='yes').as_dict())"
)

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of `mesh` that has one more switch."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "mesh", folder / "mesh", ignore=shutil.ignore_patterns("__pycache__", "tests"))
    (folder / "docs").mkdir()
    text = (folder / SWITCHES).read_text()
    assert LAST in text
    (folder / SWITCHES).write_text(text.replace(LAST, ENTRY + LAST))
    return folder


@pytest.fixture
def run(copy: Path) -> Run:
    """Runs Python with that copy."""
    # As wide as to have no option's name cut.
    environ = {**os.environ, "PYTHONPATH": str(copy / "mesh"), "COLUMNS": "200"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], env=environ, cwd=copy, capture_output=True, text=True, timeout=60
        )

    return run


def test_one_entry_makes_options_make_s_settings_the_docs_and_the_record(run: Run, copy: Path) -> None:
    told = run("-m", "mesh", "up", "--help").stdout
    assert "--sparkle" in told
    assert "Whether answers sparkle: no or yes." in told
    # These are made from the options of the commands.
    assert run("-m", "experiment", "settings").returncode == 0
    lists = dict(line.split(" := ") for line in (copy / MAKE).read_text().splitlines() if " := " in line)
    assert [name for name, settings in lists.items() if "sparkle" in settings.split()] == [
        "SETTINGS_bench",
        "SETTINGS_compare",
        "SETTINGS_up",
        "SETTINGS",
    ]
    row = "| `sparkle` | no | clients | Whether answers sparkle: no or yes. | bench, compare, up |"
    assert row in (copy / PAGE).read_text().splitlines()
    assert "'sparkle': 'yes'" in run("-c", RECORD).stdout


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--sparkle=maybe"], "sparkle=maybe is unknown; valid: no, yes."),
        (["--sparkle=yes", "--edge=none", "--http=1"], "sparkle=yes needs an edge; give edge=envoy or edge=kong"),
    ],
)
def test_its_values_and_what_it_needs_are_the_entry_s(run: Run, given: list[str], message: str) -> None:
    refused = run("-m", "mesh", "up", *given)
    assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr
