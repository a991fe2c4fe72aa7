"""Commands are rows of a table, and switches are entries: make, programs, docs and results read them from there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from experiment.make import PAGE, page, read_overrides
from hopwise.table import FILE, TARGETS
from mesh.description.switches import settings_of
from mesh.paths import ROOT

SWITCHES = Path("mesh/mesh/description/switches.py")
LAST = "    networks: Mapping[str, Network] ="
ENTRY = """\
    sparkle: str = entry("clients", "no", choice("Whether answers sparkle", "no", "yes"), AN_EDGE)
"""
ROW = """
[Measure.shades]
does = "Compare shades of a shop"
where = "experiment.kinds.shades:command"
settings = [["shades", "light,dark", "Shades, comma-separated."], "SEED", "sparkle=yes"]
needs = []
"""
RECORD = (
    "import sys; from mesh.description.switches import parse_switches; print(parse_switches(sparkle='yes').as_dict())"
)
ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with an additional switch and kind, in which programs print their arguments."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("mesh", "load/experiment", "observability/hopwise"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    for name in ("Makefile", "proto/proto.mk", "load/load.mk"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "docs").mkdir()
    text = (folder / SWITCHES).read_text()
    assert LAST in text
    (folder / SWITCHES).write_text(text.replace(LAST, ENTRY + LAST))
    table = folder / FILE.relative_to(ROOT)
    text = table.read_text(encoding="utf-8").replace("implementation apart store", "implementation apart sparkle store")
    table.write_text(text + ROW, encoding="utf-8")
    program = folder / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{ECHO}" "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture
def run(copy: Path) -> Run:
    """Runs a program in the copy, from which Python imports."""
    packages = ("mesh", "load", "observability")
    environ = {**os.environ, "PYTHONPATH": ":".join(str(copy / name) for name in packages), "COLUMNS": "200"}
    # Removes make's variables, as if make had not started these tests.
    environ = {name: value for name, value in environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, env=environ, cwd=copy, capture_output=True, text=True, timeout=60, check=False)

    return run


def test_one_entry_makes_options_make_s_settings_the_docs_and_the_record(run: Run, copy: Path) -> None:
    output = run(sys.executable, "-m", "mesh", "up", "--help").stdout
    assert "--sparkle" in output
    assert "Whether answers sparkle: no or yes." in output
    assert "sparkle        Whether answers sparkle: no or yes. [no]" in run("make", "help-bench").stdout
    assert run("make", "settings").returncode == 0
    row = "| `sparkle` | no | clients | Whether answers sparkle: no or yes. | bench, compare, up, shades (yes) |"
    assert row in (copy / PAGE).read_text().splitlines()
    assert "'sparkle': 'yes'" in run(sys.executable, "-c", RECORD).stdout


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--sparkle=maybe"], "sparkle=maybe is unknown; valid: no, yes."),
        (["--sparkle=yes", "--edge=none", "--http=1"], "sparkle=yes needs an edge; give edge=envoy or edge=kong"),
    ],
)
def test_the_entry_defines_its_values_and_needs(run: Run, given: list[str], message: str) -> None:
    refused = run(sys.executable, "-m", "mesh", "up", *given)
    assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr


def test_one_row_makes_a_target_and_its_help(run: Run) -> None:
    output = run("make", "help").stdout
    assert re.search("^  shades +Compare shades of a shop$", output, re.MULTILINE)
    listed = output[output.index("\nMeasure\n") : output.index("\nSettings: ")]
    assert len({len(one) for one in re.findall(r"^  \S+ +(?=[A-Z])", listed, re.MULTILINE)}) == 1
    assert output.index("\nMeasure\n") < output.index("  shades ") < output.index("\nProve\n")
    assert run("make", "help-shades").stdout.splitlines() == [
        "  shades         Shades, comma-separated. [light,dark]",
        "  seed           Seed of the tape and of everything else random, an integer ≥ 0. [1]",
        "  sparkle        Whether answers sparkle: no or yes. [yes]",
    ]


@pytest.mark.parametrize(
    ("shades", "seed", "sparkle"),
    [
        ("a b", "it's", "-x"),
        ("$(touch made)", "$$(touch made)", "$(shell touch made)"),
        ("`touch made`", "'; touch made; '", '\\ # % : = " |'),
    ],
)
def test_values_reach_a_program_as_they_were_typed(run: Run, copy: Path, shades: str, seed: str, sparkle: str) -> None:
    done = run("make", f"shades={shades}", "shades", f"sparkle={sparkle}", f"seed={seed}")
    options = ["--shades", shades, "--seed", seed, "--sparkle", sparkle]
    assert json.loads(done.stdout) == ["-m", "experiment", "shades", *options], done.stderr
    assert not (copy / "made").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["toplogy=rest", "bench"], "unknown setting: toplogy (nearest: topology); valid: topology profile "),
        (["precision=2%", "shades"], "shades has no setting precision; it has: shades seed sparkle."),
        (["seed=1", "bench", "precision=2%"], "bench has no setting precision; it has: topology "),
        (
            ["target=x", "chaos"],
            "chaos has no setting target (it kills components of the shop and audits its data); it ",
        ),
        (["benhc"], "there is no target benhc (nearest: bench); make help lists all"),
        (["help-lint"], "lint has no settings; targets with settings: audit bench "),
        (["PYTHON=/nowhere/python3", "bench"], "/nowhere/python3 is not Python 3.11 or newer: give PYTHON="),
    ],
)
def test_a_mistake_is_refused_before_anything_is_set_up(run: Run, copy: Path, given: list[str], message: str) -> None:
    before = sorted(copy.rglob("*"))
    refused = run("make", *given)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert message in refused.stderr
    assert [path for path in sorted(copy.rglob("*")) if path not in before and path.suffix != ".pyc"] == []


def test_targets_with_and_without_settings_can_be_combined(run: Run) -> None:
    lines = run("make", "seed=3", "shades", "status").stdout.splitlines()
    assert [json.loads(line)[2:] for line in lines] == [["shades", "--seed", "3"], ["status"]]


def test_overrides_are_read_as_make_writes_them() -> None:
    assert read_overrides(r"b=$$(x)\ y a:=\\ c=") == {"b": "$(x) y", "a": "\\", "c": ""}


@pytest.mark.parametrize("name", TARGETS)
def test_a_program_has_an_option_for_each_setting_that_make_passes(name: str) -> None:
    for program in TARGETS[name].runs:
        options = {option for parameter in _command(program.split()).params for option in parameter.opts}
        assert {f"--{setting.name}" for setting in settings_of(name)} <= options


def _command(words: list[str]) -> Any:
    module, *rest = (word for word in words if not word.startswith("-"))
    place = {"experiment": "experiment.cli", "mesh": "mesh.cli"}.get(module, module)
    place = f"{module}.__main__" if module in ("fuzz", "proofs") else place
    command: Any = typer.main.get_command(import_module(place).app)
    while rest and isinstance(command, TyperGroup):
        _, command, rest = command.resolve_command(typer.Context(command), rest)
    return command


@pytest.mark.parametrize(
    ("command", "setting", "place"),
    [
        ("bench", "profile", "experiment.plan.profiles:PROFILES"),
        ("ladder", "steps", "hops.kinds.ladder.arms:ARMS"),
        ("watch", "ways", "experiment.kinds.watch:WAYS"),
        ("chaos", "faults", "experiment.faults.faults:FAULTS"),
        ("conformance", "component", "experiment.parity.contract_tests:SUITES"),
        ("conformance", "protocols", "experiment.parity.contract_tests:PROTOCOLS"),
        ("prove-delays", "hops", "proofs.measurement.delays:JOURNEYS"),
        ("prove-fairness", "attacks", "proofs.under_faults.fairness:ATTACKS"),
        ("fuzz", "surfaces", "fuzz.run:SURFACES"),
    ],
)
def test_a_setting_s_help_names_its_valid_values(command: str, setting: str, place: str) -> None:
    module, _, name = place.partition(":")
    (row,) = [row for row in settings_of(command) if row.name == setting]
    known = getattr(import_module(module), name)
    values = chain(*known.values()) if name == "PROTOCOLS" else known
    missing = [value for value in values if value not in f"{row.help} {row.default}"]
    assert missing == [], f"the row {command} of commands.toml"


def test_the_page_matches_the_table() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(), "run make settings"
    assert "bench, compare, ladder, rtt, rates, isolate, watch, capacity (0)," in page()


def test_help_ends_quietly_when_its_reader_closes_the_pipe() -> None:
    argv, pipe = [sys.executable, "-m", "experiment.make", "help", "Makefile"], subprocess.PIPE
    with subprocess.Popen(argv, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as asked:
        assert asked.stdout is not None
        asked.stdout.close()
        assert asked.stderr is not None
        assert (asked.stderr.read(), asked.wait(30)) == ("", 0)
