from __future__ import annotations

import re
import sys
from collections.abc import Collection

import pytest
import typer

from experiment.cli import app
from experiment.commands import preflight
from experiment.commands.preflight import Preflight
from hops.run.documents.trial import Program

BUSY = Program(name="cc1", pid=12, cores=0.5)


class FakePrograms:
    """Programs that were observed for long enough."""

    lasted_s = 2.0

    def name_busy(self, excluded: Collection[int] = ()) -> list[Program]:
        return [BUSY]


@pytest.fixture(autouse=True)
def _next_to_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "Programs", FakePrograms)
    monkeypatch.delenv("CI", raising=False)


def answer_with(answer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: answer)


@pytest.mark.parametrize(("answer", "begins"), [(True, True), (False, False)])
def test_the_user_decides(monkeypatch: pytest.MonkeyPatch, answer: bool, begins: bool) -> None:
    answer_with(answer, monkeypatch)
    if begins:
        Preflight().end()
    else:
        with pytest.raises(SystemExit) as ended:
            Preflight().end()
        assert ended.value.code == 0


def test_a_pipe_gets_names_and_no_question(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: pytest.fail("nobody can answer"))
    Preflight().end(["One trial, about 30 s."])
    output = capsys.readouterr().err
    assert output.startswith("One trial, about 30 s.\nOther programs use the processors: cc1 (pid 12) 0.50 cores.")
    assert "NOISY (CPU of other programs below 0.25 cores)" in output


def test_ci_gets_no_question(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: pytest.fail("nobody can answer"))
    Preflight().end(["One trial, about 30 s."])
    assert capsys.readouterr().err == "One trial, about 30 s.\n"


@pytest.mark.parametrize(
    ("command", "length"),
    [
        ("capacity --topologies rest", "Sweep of rest: p99 below 100 ms"),
        ("capacity --load stress --topologies rest --users 100", "Stress of rest: 100 users"),
        (
            "capacity --load overload --topologies rest --factors 2,5",
            "Overload of rest: 2 and 5 times the rate that each sustains",
        ),
        ("watch --topologies rest --watchers 100 --blocks 1", "rest, rest-push-100, rest-poll-100: 1 block"),
        ("connections --topologies rest --blocks 2", "rest: 2 blocks of 1 trial"),
        ("soak --topologies rest --minutes 30", "Soak of rest: 30 minutes of load on each"),
        ("chaos --topologies rest --faults kill:order", "1 fault of rest, in random order"),
    ],
)
def test_the_user_learns_the_length_of_a_run_before_deciding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, length: str
) -> None:
    answer_with(False, monkeypatch)
    with pytest.raises(SystemExit):
        app(command.split())
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith(length)
    assert re.search(r"about \d+ (s|min|h)\b", first)
    assert last == "Nothing was started."
