"""A kind of experiment is a row of the table of commands and a folder: a made-up kind runs from command to report."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import experiment.kinds
import hops.kinds
from experiment import cli
from experiment.plan.arms_in_blocks import Plan
from experiment.results.folder import ResultsFolder
from hops.run.documents.summary import Summary
from hops.run.files import SUMMARY, read_document
from hopwise import table
from hopwise.table import FILE, read_table
from synthetic.run import Arm, write_generated_run

COMMAND = """
from experiment.arguments import topologies_of
from experiment.commands import in_blocks
from experiment.plan.arms_in_blocks import Plan, arm_of
from mesh.description.options import Given

@in_blocks.experiment("shades")
def command(*, shades: str, common: in_blocks.Common, switches: Given) -> Plan:
    (shop,) = topologies_of("rest")
    return common.plan("shades", tuple(arm_of(shade, shop, switches) for shade in shades.split(",")))
"""
ROW = """
[Measure.shades]
does = "Compare shades of a shop"
where = "experiment.kinds.shades:command"
settings = [
  ["shades", "light,dark", "Shades."], "BLOCKS=3", "PROFILE=smoke", "RATE", "SEED", "WORKLOAD", "trace=0",
  "RESUME", "RETRY", "STRICT",
]
"""
KIND = """
from rich.console import Group
from hops.report.view import Kind

KIND = Kind("Which shade do customers get?", lambda summary: Group(*summary["topologies"], "told by its own view"))
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[typer.Typer]:
    """The command line with another kind: a row and two files."""
    for package, file, text in (
        (experiment.kinds, "experiment/shades.py", COMMAND),
        (hops.kinds, "hops/shades/kind.py", KIND),
    ):
        path = tmp_path / file
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / file.split("/")[0])])
    (row,) = [row for row in read_table(FILE.read_text(encoding="utf-8") + ROW) if row.name == "shades"]
    monkeypatch.setattr(table, "ROWS", [*table.ROWS, row])
    monkeypatch.setitem(table.TARGETS, "shades", row)
    yield importlib.reload(cli).app
    monkeypatch.undo()
    importlib.reload(cli)


def fake_run_plan(plan: Plan, folder: ResultsFolder, *_: Any, **__: Any) -> tuple[Summary, Path]:
    """Replaces the trials, and computes the figures as every run does."""
    arms = [Arm(arm.label, arm.topology.name) for arm in plan.arms]
    write_generated_run(folder.path, blocks=plan.blocks, journeys_per_trial=60, kind=plan.kind, arms=arms)
    hops.kinds.make_report(folder.path)
    path = folder.publish()
    return read_document(path / SUMMARY), path  # type: ignore[return-value]


def test_a_new_kind_has_a_command_a_summary_and_a_report(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    monkeypatch.setattr("experiment.commands.in_blocks.RESULTS", results)
    monkeypatch.setattr("experiment.commands.in_blocks.run_plan", fake_run_plan)
    assert "Compare shades of a shop." in CliRunner().invoke(app, ["--help"]).stdout
    done = CliRunner().invoke(app, ["shades", "--shades", "light,dim"])
    assert done.exit_code == 0, done.output
    assert "light, dim: 3 blocks of 2 trials in random order" in done.stderr
    assert "told by its own view" in done.stdout
    (run,) = results.glob("2*-shades")
    assert "Which shade do customers get?" in (run / "report.html").read_text(encoding="utf-8")


def test_an_interrupted_run_is_named_by_its_command(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiment.commands.in_blocks.RESULTS", tmp_path)
    done = CliRunner().invoke(app, ["shades", "--resume", "latest"])
    assert done.exit_code == 2
    assert "resume=latest is not an interrupted shades" in done.stderr
