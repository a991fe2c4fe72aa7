"""Envoy and Kong themselves accept the configuration in `gateway/`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from stand_ins import needs_kong

from mesh.edge.rendered import ENVOY, FOLDER, KONG, KONG_SETTINGS
from mesh.envoy_config import command
from mesh.paths import ROOT
from mesh.paths import kong as kong_program


def test_envoy_accepts_its_file() -> None:
    argv = command(FOLDER / ENVOY, "--mode", "validate")
    checked = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr


@needs_kong
def test_kong_accepts_its_files(tmp_path: Path) -> None:
    argv = [kong_program(os.environ), "config", "-c", FOLDER / KONG_SETTINGS, "parse", FOLDER / KONG]
    environ = {**os.environ, "KONG_PREFIX": str(tmp_path / "kong")}
    checked = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
