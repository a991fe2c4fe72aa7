"""What is said and asked before a run."""

from __future__ import annotations

import sys
from collections.abc import Collection

import pytest
import typer

from experiment.commands import preflight
from experiment.commands.preflight import Preflight
from hops.run.documents.trial import Program

BUSY = Program(name="cc1", pid=12, cores=0.5)


class FakePrograms:
    """Programs that were looked at for long enough."""

    lasted_s = 2.0

    def name_busy(self, excluded: Collection[int] = ()) -> list[Program]:
        return [BUSY]


@pytest.fixture(autouse=True)
def _next_to_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "Programs", FakePrograms)
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.parametrize(("answer", "begins"), [(True, True), (False, False)])
def test_a_person_decides(monkeypatch: pytest.MonkeyPatch, answer: bool, begins: bool) -> None:
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: answer)
    if begins:
        Preflight().end()
    else:
        with pytest.raises(SystemExit) as ended:
            Preflight().end()
        assert ended.value.code == 0


def test_a_pipe_is_not_asked_and_has_the_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: pytest.fail("nobody can answer"))
    Preflight().end(["One trial, about 30 s."])
    said = capsys.readouterr().err
    assert said.startswith("One trial, about 30 s.\nOther programs use the processors: cc1 (pid 12) 0.50 cores.")
    assert "NOISY (CPU of other programs below 0.25 cores)" in said


def test_nothing_is_asked_in_ci(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: pytest.fail("nobody can answer"))
    Preflight().end(["One trial, about 30 s."])
    assert capsys.readouterr().err == "One trial, about 30 s.\n"
