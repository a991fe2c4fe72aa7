"""A run in a folder, of which each test gets a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hops.run.files import read_run
from synthetic.run import write_generated_run


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write_generated_run(folder, topologies=["rest"], blocks=1, journeys_per_trial=100)
    read_run(folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))
