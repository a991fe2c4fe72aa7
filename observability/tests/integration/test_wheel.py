"""The wheel in a fresh environment: the trace tools, without a shop and in little disk space."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hops.traces.write_otlp import otlp_document
from mesh.paths import ROOT
from provision.environment import LIMITS, uv
from synthetic.traces import shop_trace

MAX_MB = 60


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment with the wheel, and dependencies at the versions of the lock file."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    environment = folder / "environment"
    _run(uv(), "venv", "--quiet", "--python", sys.executable, str(environment))
    (wheel,) = folder.glob("*.whl")
    lock = str(ROOT / "requirements.lock")
    _run(uv(), "pip", "install", "--quiet", "--python", str(environment), "--constraints", lock, str(wheel))
    return environment


def _run(*argv: str) -> None:
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT, env={**os.environ, **LIMITS}
    )
    assert done.returncode == 0, done.stderr


def _hopwise(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = installed / "bin" / "hopwise"
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60, cwd=installed)


def test_a_budget_is_printed_of_a_file(installed: Path, tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(otlp_document(shop_trace(0, 30))))
    done = _hopwise(installed, "budget", str(file), "--json")
    assert done.returncode == 0, done.stderr
    (budget,) = json.loads(done.stdout)["traces"].values()
    assert sum(budget["parts_ns"].values()) == budget["total_ns"] > 0


def test_all_of_it_takes_little_room(installed: Path) -> None:
    size = sum(file.lstat().st_size for file in installed.rglob("*"))
    assert size <= MAX_MB * 1e6


def test_the_wheel_has_what_reports_are_made_of(installed: Path) -> None:
    (there,) = installed.glob("lib/python*/site-packages/hops/report/page")
    written = ROOT / "observability" / "hops" / "report" / "page"
    assert {file.name for file in there.iterdir()} == {file.name for file in written.iterdir()}


def test_the_wheel_has_no_proofs_and_no_synthetic_data(installed: Path) -> None:
    (packages,) = installed.glob("lib/python*/site-packages")
    ours = {file.relative_to(packages).parts[0] for file in packages.rglob("*.py")} & {"hops", "proofs", "synthetic"}
    assert ours == {"hops"}
    assert [*(packages / "hops").rglob("synthetic*"), *(packages / "hops").rglob("prove*")] == []


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("check limits.yaml", "pip install 'PATH[sets]'"),
        ("report", "pip install 'PATH[analysis]'"),
        ("bench", "in a checkout of the project, after make setup"),
    ],
)
def test_missing_packages_are_reported_with_how_to_get_them(installed: Path, command: str, remedy: str) -> None:
    done = _hopwise(installed, *command.split(), "results")
    assert done.returncode == 2
    assert remedy in done.stderr


def test_sets_of_traces_take_numpy_and_no_more(installed: Path, tmp_path: Path) -> None:
    lock = str(ROOT / "requirements.lock")
    _run(uv(), "pip", "install", "--quiet", "--python", str(installed), "--constraints", lock, "numpy")
    traces, limits = tmp_path / "traces.json", tmp_path / "limits.yaml"
    traces.write_text(json.dumps(otlp_document(shop_trace(0, 30, journey="checkout"))))
    limits.write_text("checkout:\n  total: {mean: 60 ms}\n")
    for asked in (
        ["check", limits, traces],
        ["what-if", traces, "--change=work:order -50%"],
        ["compare-traces", *[traces] * 2],
    ):
        done = _hopwise(installed, *map(str, asked))
        assert "total" in done.stdout or "checkout" in done.stdout, done.stderr
    page = _hopwise(installed, "check", str(limits), str(traces), "--html", str(tmp_path / "page.html"))
    assert (page.returncode, "pip install 'PATH[analysis]'" in page.stderr) == (2, True)
