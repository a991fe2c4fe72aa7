"""What several modules analyse; a module whose topologies differ has its own `run`."""

from __future__ import annotations

import pytest

from hops.kinds import analyse
from hops.run.files import read_run
from synthetic.run import write_generated_run


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A run in which `slow` is `plain` with 2 ms more in one part, and `rest` has another gateway."""
    options = {"blocks": 4, "journeys_per_trial": 1500, "delays_ms": {"slow": {"work:payment": 2.0}}, "seed": 5}
    folder = tmp_path_factory.mktemp("run")
    return read_run(write_generated_run(folder, topologies=["plain", "slow", "rest"], **options))


@pytest.fixture(scope="module")
def summary(run):
    return analyse(run, name="night")
