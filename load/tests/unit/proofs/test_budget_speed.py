"""The benchmarks of budgets and of readers print what they measured."""

from __future__ import annotations

import json

from click.testing import Result
from typer.testing import CliRunner

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
