from __future__ import annotations

import pytest
from typer.testing import CliRunner

from experiment.cli import app


@pytest.mark.parametrize(
    ("setting", "given", "message"),
    [
        ("ways", "pull", "ways=pull: pull is unknown; did you mean poll? valid: push, poll"),
        ("channel", "fax", "channel=fax is unknown; valid: web, mobile, partner"),
        ("watchers", "100,9801", "watchers=9801 is not valid: give an integer from 1 to 9800"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_starts(setting: str, given: str, message: str) -> None:
    done = CliRunner().invoke(app, ["watch", f"--{setting}", given])
    assert done.exit_code == 2
    assert message in done.stderr
