from __future__ import annotations

import json
import signal

import pytest
from typer.testing import CliRunner

from hops.terminal.console import terminal
from hops.terminal.render import render
from proofs.statistics.commands import SyntheticProof, _command_of, app
from proofs.statistics.power import power_view


def test_power_is_printed_as_json_and_as_a_table(capsys):
    document = CliRunner().invoke(app, ["power", "--experiments", "1", "--seed", "2", "--json"])
    proof = json.loads(document.stdout)
    assert proof["seed"] == 2
    terminal().print(render(power_view(proof)))
    printed = capsys.readouterr().out
    assert all(
        title in printed for title in ("by the size of the difference", "by the number of blocks", "by the noise")
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("aa", "False differences in 1"),
        ("coverage", "Coverage of 95 % intervals"),
        ("meetings", "what meetings cost, in 1"),
        ("searches", "seem to differ, 1 pairs"),
        ("speeds", "on machines that change their speed, 1"),
        ("turns", "reported to flip, in 1"),
    ],
)
def test_commands_print_tables_and_json(command, words):
    plain = CliRunner().invoke(app, [command, "--experiments", "1"])
    assert words in plain.output
    document = CliRunner().invoke(app, [command, "--experiments", "1", "--seed", "2", "--json"])
    proof = json.loads(document.stdout)
    assert (proof["experiments"], proof["seed"]) == (1, 2)
    assert document.exit_code == (0 if proof["holds"] else 1)


@pytest.mark.parametrize("command", ["observer", "versions", "aa"])
def test_a_negative_seed_is_refused(command):
    done = CliRunner().invoke(app, [command, "--seed", "-1"])
    assert done.exit_code == 2
    assert "greater than or equal to 0" in done.output


def test_sigterm_ends_a_proof_as_an_error_does(capsys):
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.fail("the proof does not handle the signal"))
    proof = _command_of(SyntheticProof(lambda *_: signal.raise_signal(signal.SIGTERM), list))
    try:
        with pytest.raises(SystemExit, match="143"):
            proof(count=1, seed=1, as_json=False)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "stopped by SIGTERM; nothing was left running." in capsys.readouterr().err
