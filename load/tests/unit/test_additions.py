"""Counts the files that an addition touches: adds a gate and a metric to a copy of the sources, and checks that they
take effect."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from hops.kinds import kinds
from hopwise.table import TARGETS
from mesh.paths import ROOT

HOPS, TESTS = "observability/hops", "observability/tests/unit"
COPIED = (
    *(f"observability/{name}" for name in ("hops", "user_files", "synthetic", "tests")),
    "load/experiment",
    "docs",
)
MAX_OF_A_GATE = MAX_OF_A_METRIC = 6
Edits = Mapping[str, Mapping[str, str]]
"""Additions by file: the text before which to insert, and the inserted text."""

GATE: Edits = {
    f"{HOPS}/gates/limits.py": {
        '    Kind("steal_share"': (
            '    Kind("overrun_s", "replay beyond its load", _GENERATOR, WRONG, "below", 5.0, "s", optional=True),\n'
        )
    },
    f"{HOPS}/gates/trial.py": {"    spans_dropped: int = 0\n": "    overrun_s: float | None = None\n"},
    "load/experiment/trial/replay.py": {
        "            spans_dropped=int(": (
            "            overrun_s=self._load_s[1] - self._load_s[0] - self._load.duration_s,\n"
        )
    },
    "docs/experiments/method.md": {
        "| `updates_unattributed_share` |": "| `overrun_s` | replay beyond its load | below 5 s |\n"
    },
    f"{TESTS}/gates/test_trial.py": {
        '"invariants_broken", "steal_share", "other_cores"': '"overrun_s", ',
        "    steal_share=0.001,\n": "    overrun_s=1.0,\n",
        '    "a noisy neighbour":': '    "a replay that does not end": ("overrun_s", {"overrun_s": 5.0}),\n',
    },
}
METRIC: Edits = {
    f"{HOPS}/analysis/topology.py": {
        '        parallel_mean=_mean(journeys["parallel"]),\n': (
            '        waves_max=int(journeys["waves"].to_numpy().max()),\n'
        )
    },
    f"{HOPS}/run/documents/topology.py": {"    parallel_mean: float\n": "    waves_max: int\n"},
    f"{HOPS}/tables/latency.py": {
        'Column("failed")]': 'Column("waves", spare=5), ',
        "_failure_cell(cell)]": 'whole(cell["waves_max"]), ',
    },
    "docs/results/on-disk.md": {"    count, errors, requests_per_journey,": "    waves_max,\n"},
    f"{TESTS}/analysis/test_topology.py": {'"parallel_mean", "bytes_in_mean"': '"waves_max", '},
    f"{TESTS}/conclusions/summaries.py": {'        "parallel_mean": 1.0,\n': '        "waves_max": 2,\n'},
}
REPORTED = "; ".join(
    (
        "import sys, pathlib, hops.kinds, vl_convert, synthetic.run as made",
        "vl_convert.vegalite_to_svg = lambda *_, **__: '<svg></svg>'",  # charts are empty in tests
        "run = made.write_generated_run(pathlib.Path(sys.argv[1]), blocks=1, journeys_per_trial=40, kind='bench')",
        "hops.kinds.make_report(run)",
        "print((run / 'csv' / 'latency.csv').read_text().splitlines()[0])",
    )
)


def add(edits: Edits, copy: Path) -> None:
    for name in COPIED:
        # Includes the bytecode, except for files that another process is writing.
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, copy / name)
    for file, additions in edits.items():
        text = (copy / file).read_text(encoding="utf-8")
        for place, added in additions.items():
            assert text.count(place) == 1, (file, place)
            text = text.replace(place, added + place)
        (copy / file).write_text(text, encoding="utf-8")


def run(copy: Path, *argv: str) -> str:
    packages = os.pathsep.join(str(copy / name) for name in ("observability", "load"))
    argv, environ = (sys.executable, *argv), {**os.environ, "PYTHONPATH": packages}
    done = subprocess.run(argv, env=environ, cwd=copy, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_gate_touches_few_files(tmp_path: Path) -> None:
    assert len(GATE) <= MAX_OF_A_GATE
    add(GATE, tmp_path)
    tests = [f"{TESTS}/gates/test_{name}.py" for name in ("trial", "limits", "evidence")]
    out = run(tmp_path, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *tests)
    assert " passed" in out


def test_a_metric_from_rows_touches_few_files(tmp_path: Path) -> None:
    assert len(METRIC) <= MAX_OF_A_METRIC
    add(METRIC, tmp_path)
    assert ",waves," in run(tmp_path, "-c", REPORTED, str(tmp_path / "run"))


def test_only_the_table_of_commands_lists_kinds() -> None:
    """`test_kinds.py` adds a kind: a row of that table, and two files."""
    names = {*kinds(), *(name for name in TARGETS if (ROOT / "load/experiment/kinds" / f"{name}.py").is_file())}
    lists = []
    for folder in ("load/experiment", HOPS, "observability/hopwise", "mesh/mesh"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
                    items = node.keys if isinstance(node, ast.Dict) else node.elts
                    named = {item.value for item in items if isinstance(item, ast.Constant)} & names
                    lists += [str(file.relative_to(ROOT))] if len(named) > 1 else []
    assert lists == []
