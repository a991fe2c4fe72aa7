"""The command `hopwise`: its help, what it imports, and its messages about missing packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from itertools import chain

import pytest
import typer
from typer.testing import CliRunner

from hopwise.cli import app, import_command
from hopwise.table import COMMANDS, GROUPS, Command

HEAVY = ("polars", "numpy", "scipy", "aiohttp", "hops", "experiment", "mesh")
OF_DEVELOPERS = {"clean", "findings"}
"""Commands that only make's targets call."""


def hopwise(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments, prog_name="hopwise")
    return result.exit_code, result.output


def test_help_fits_one_screen_and_names_every_command() -> None:
    code, said = hopwise("--help")
    assert code == 0
    assert len(said.splitlines()) <= 30
    assert set(COMMANDS) <= {word.strip(",") for word in said.split()}


def test_help_imports_no_command() -> None:
    program = "import sys; from hopwise.cli import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.splitlines()[-1].split()).isdisjoint(HEAVY)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there(name: str) -> None:
    assert import_command(COMMANDS[name]).get_short_help_str()


def test_every_command_for_users_is_in_the_table() -> None:
    apps = ("hops.__main__", "experiment.cli", "mesh.cli")
    registered = chain.from_iterable(import_module(where).app.registered_commands for where in apps)
    names = {one.name or one.callback.__name__ for one in registered}
    # One command makes a results folder's report, wherever the folder is.
    assert names - set(COMMANDS) == OF_DEVELOPERS


@pytest.mark.parametrize("group", GROUPS)
def test_help_of_a_group_says_what_each_command_does(group: str) -> None:
    code, said = hopwise("help", group)
    described = dict(line.split(maxsplit=1) for line in said.splitlines() if line.startswith("  "))
    assert code == 0
    assert described.keys() == GROUPS[group].commands.keys()


def test_help_of_a_command_is_its_own() -> None:
    code, said = hopwise("help", "budget")
    assert code == 0
    assert "hopwise budget" in said


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    code, said = hopwise("budgte", "file")
    assert code == 2
    assert "'budgte'. Did you mean 'budget'" in said


def test_version() -> None:
    assert hopwise("--version") == (0, f"hopwise {version('hopwise')}\n")


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_name: str) -> object:
        raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere.at_all")

    monkeypatch.setattr("hopwise.cli.import_command", fails)


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(("name", "extra"), [("rows", "analysis"), ("check", "sets"), ("bench", "shop")])
def test_a_missing_extra_is_named(name: str, extra: str) -> None:
    code, said = hopwise(name)
    assert (code, said) == (
        2,
        f"error: {name} needs nowhere, which is not installed: pip install 'PATH[{extra}]', with the path of the "
        "wheel or of the checkout.\n",
    )


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize("group", GROUPS)
def test_help_of_a_group_that_is_not_installed_says_what_it_takes(monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    monkeypatch.setattr("hopwise.cli.CHECKOUT", "nowhere")
    code, said = hopwise("help", group)
    assert code == 0
    for name in GROUPS[group].commands:
        assert re.search(rf"^  {name} +\((runs in a checkout|needs nowhere)", said, re.MULTILINE)


def test_a_module_that_a_command_imports_later_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = typer.Typer()
    alone.command("rows")(lambda: import_module("nowhere"))
    monkeypatch.setattr("hopwise.cli.import_command", lambda _name: typer.main.get_command(alone))
    assert "rows needs nowhere" in hopwise("rows")[1]


def test_a_mistake_in_the_project_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "budget", Command("budget", "Traces", "", "hops.nowhere:budget"))
    with pytest.raises(ModuleNotFoundError, match=r"hops\.nowhere"):
        app(["budget"], standalone_mode=False)


@pytest.mark.parametrize(("typed", "completed"), [("hopwise be", "bench"), ("hopwise budget --js", "--json")])
def test_a_shell_completes_names_and_options(typed: str, completed: str) -> None:
    shell = {"_HOPWISE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    argv = [sys.executable, "-c", "from hopwise.cli import main; main()"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, env={**os.environ, **shell})
    assert completed in done.stdout.split()
