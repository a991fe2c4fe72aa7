"""The import contracts cover every package of the checkout, and the wheel has the packages of the trace tools."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mesh.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = {file.parent.name for file in ROOT.glob("[!.]*/*/__init__.py") if file.parent.name != "tests"}


def test_every_package_is_under_the_contracts() -> None:
    assert set(PROJECT["tool"]["importlinter"]["root_packages"]) == PACKAGES


def test_the_wheel_has_the_packages_that_its_command_takes_and_no_other() -> None:
    built = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    command = PROJECT["project"]["scripts"]["hopwise"].partition(".")[0]
    assert {Path(name).name for name in built} == {"hops", "user_files", command}
