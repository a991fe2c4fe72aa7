"""The files of a release are built for the version of the checkout only."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "release"


@pytest.mark.parametrize("tag", ["v0.0.0", "1.0.0", ""])
def test_another_tag_is_refused_with_the_right_one(tag: str) -> None:
    refused = subprocess.run([SCRIPT, tag], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"the tag is {tag or 'missing'}, and pyproject.toml has version " in refused.stderr
