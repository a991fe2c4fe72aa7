"""What several modules analyse; a module whose topologies differ has its own `run`."""

from __future__ import annotations

import pytest

from hops.kinds import analyse


@pytest.fixture(scope="session")
def run(make_run):
    """A run in which `slow` is `plain` with 2 ms more in one part, and `rest` has another gateway."""
    delays = {"slow": {"work:payment": 2.0}}
    return make_run(topologies=["plain", "slow", "rest"], blocks=4, journeys_per_trial=1500, delays_ms=delays, seed=5)


@pytest.fixture(scope="module")
def summary(run):
    return analyse(run, name="night")
