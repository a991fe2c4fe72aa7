"""The benchmarks of budgets and of readers print what they measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from click.testing import Result
from typer.testing import CliRunner

from hops.traces.tree import Quality
from proofs import budget_speed
from proofs.__main__ import app


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_the_benchmark_prints_its_measurement() -> None:
    result = _run("benchmark", "--traces", 20, "--spans", 40, "--rounds", 1, "--json")
    assert result.exit_code == 0, result.output
    result_document = json.loads(result.stdout)
    assert result_document["gap_ns"] == 0
    assert result_document["traces_per_s"] > 0


def test_the_benchmark_of_a_format_prints_its_measurement() -> None:
    result = _run("benchmark-budgets", "--format", "zipkin", "--spans", 60_000, "--json")
    (figures,) = json.loads(result.stdout)["formats"].values()
    assert figures["spans"] == 60_000
    assert figures["peak_mib"] > 0
    assert _run("benchmark-budgets", "--format", "xml").exit_code == 2


def test_traces_that_become_no_budget_fail_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_speed, "budgets_of", lambda _: ([], Quality()))
    result = _run("benchmark", "--traces", 20, "--rounds", 1)
    assert result.exit_code == 1
    assert "40 traces became no budget" in " ".join(result.stdout.split())


def test_sigterm_ends_the_measured_process_too() -> None:
    command = "from proofs.budget_speed import _measure; _measure('rows', '/dev/stdin', '--out', '/nowhere')"
    running = subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while not (children := psutil.Process(running.pid).children()):
            assert time.monotonic() < until
            time.sleep(0.05)
        os.kill(running.pid, signal.SIGTERM)
        assert running.wait(30) == 128 + signal.SIGTERM
        assert not [one for one in children if one.is_running()]
    finally:
        running.kill()
        running.communicate()
