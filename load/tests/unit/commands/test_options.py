"""The exit code of a command follows from the verdict on its run."""

from __future__ import annotations

import pytest

from experiment.commands.options import end, is_strict
from experiment.errors import UsageError
from hops.run.documents.gate import NOISY, VALID, WRONG, Verdict


def exit_code(verdict: Verdict, given: str | None) -> int:
    try:
        end(verdict, strict=is_strict(given))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.mark.parametrize("ci", ["true", "false", None])
@pytest.mark.parametrize("given", ["on", "off", None])
def test_wrong_runs_exit_with_3_and_noisy_runs_if_strict(
    monkeypatch: pytest.MonkeyPatch, given: str | None, ci: str | None
) -> None:
    monkeypatch.delenv("CI", raising=False)
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    strict = given == "on" or (given is None and ci == "true")
    assert exit_code(VALID, given) == 0
    assert exit_code(NOISY, given) == (3 if strict else 0)
    assert exit_code(WRONG, given) == 3


def test_strict_is_on_or_off() -> None:
    with pytest.raises(UsageError, match="strict=yes is unknown; valid: on, off"):
        is_strict("yes")
