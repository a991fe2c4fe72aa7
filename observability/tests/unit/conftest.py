"""Runs that tests make up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hops.run.files import RunFiles, read_run
from synthetic.run import write_generated_run


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunFiles]:
    """Makes up a run in a new folder, and reads it."""
    return lambda **options: read_run(write_generated_run(tmp_path_factory.mktemp("run"), **options))
