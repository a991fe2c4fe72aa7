from __future__ import annotations

import pytest
from typer.testing import CliRunner

from experiment.cli import app
from experiment.errors import UsageError
from experiment.kinds.watch import parse_ways


@pytest.mark.parametrize(
    ("given", "message"),
    [("pull", "'pull' is unknown; valid: push, poll"), ("push,push", "give each way once"), ("", "'' is unknown")],
)
def test_other_ways_are_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_ways(given)


def test_more_watchers_than_customers_are_refused_before_anything_starts() -> None:
    done = CliRunner().invoke(app, ["watch", "--watchers", "100,9801"])
    assert done.exit_code == 2
    assert "watchers=9801 is not valid: give an integer from 1 to 9800" in done.stderr
