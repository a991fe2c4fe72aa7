"""What a run says of its programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment.results.manifest import kong_version


@pytest.mark.parametrize(("script", "version"), [("echo 3.9.3", "3.9.3"), ("echo 3.9.3; exit 1", "")])
def test_version_of_kong_is_what_it_says_itself(tmp_path: Path, script: str, version: str) -> None:
    program = tmp_path / "kong"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    assert kong_version({"KONG_BIN": str(program)}) == version
