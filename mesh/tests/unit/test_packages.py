"""Every package of the checkout is in the wheel, and under the contracts about imports."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mesh.paths import ROOT

TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
PACKAGES = {file.parent.name for file in ROOT.glob("[!.]*/*/__init__.py") if file.parent.name != "tests"}


@pytest.mark.parametrize(
    "listed",
    [TOOLS["hatch"]["build"]["targets"]["wheel"]["packages"], TOOLS["importlinter"]["root_packages"]],
    ids=["wheel", "contracts"],
)
def test_every_package_is_listed(listed: list[str]) -> None:
    assert {Path(name).name for name in listed} == PACKAGES
