"""The command line has every command, and its help does not import the modules that commands need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiment.cli import COMMANDS, app
from synthetic.run import Arm, write_generated_run

SLOW_IMPORTS = ("scipy", "polars", "psycopg", "httpx")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_s_help_matches_the_list(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert COMMANDS[name].does in " ".join(done.output.split())
    assert "--install-completion" not in done.output


def test_an_unknown_command_is_named_with_a_close_one() -> None:
    done = CliRunner().invoke(app, ["compar"], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "No such command 'compar'. Did you mean" in done.stderr
    assert "'compare'" in done.stderr


def test_help_lists_every_command_and_imports_no_statistics() -> None:
    code = (
        "import sys; from experiment.cli import app; app(['--help'], standalone_mode=False);"
        f"print('IMPORTED', [name for name in {SLOW_IMPORTS} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "IMPORTED []" in done.stdout, done.stdout + done.stderr
    assert all(f" {name} " in done.stdout for name in COMMANDS)


def test_parity_refuses_at_once_a_topology_that_the_edge_cannot_serve() -> None:
    asked = ["parity", "--edge", "kong", "--topologies", "rest,hybrid-transcoded"]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "200"})
    assert done.exit_code != 0
    assert "edge=kong: hybrid-transcoded needs" in done.stderr


def test_parity_without_a_fitting_topology_does_not_pass() -> None:
    done = CliRunner().invoke(app, ["parity", "--replicas", "notification:2"], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "no topology can run with these switches; for example, replicas=" in done.stderr


def test_a_wrong_port_is_refused_before_a_run_has_a_folder(tmp_path: Path) -> None:
    asked = ["compare", "--topologies", "rest,grpc", "--results", str(tmp_path)]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "200", "SHOP_PORT_BASE": "abc"})
    assert done.exit_code == 2
    assert "SHOP_PORT_BASE=abc" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([Arm("untraced", "rest", traced=False)], "traced no journeys; measure with trace=0.2"),
        (
            [Arm("untraced", "rest", traced=False), Arm("edge", "rest")],
            "topology=untraced has no exemplars in this run; available: edge",
        ),
    ],
)
def test_trace_names_what_has_no_traces(arms: list[Arm], message: str, tmp_path: Path) -> None:
    run = write_generated_run(tmp_path / "run", kind="ladder", arms=arms, blocks=1, journeys_per_trial=60)
    (run / "summary.json").touch()  # a file that only finished runs have
    done = CliRunner().invoke(app, ["trace", "--run", str(run), "--topology", "untraced"])
    assert done.exit_code == 2
    assert message in done.stderr
