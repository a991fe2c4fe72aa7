"""Runs that tests make up."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hops.kinds import make_report
from hops.run.files import RunFiles, read_run
from synthetic.experiment import Noise
from synthetic.run import write_generated_run

CALM = Noise(sigma=0.2, block=0.01, trial=0.01)
FOUR = ("hybrid", "rest", "grpc", "graphql")
RUNS: dict[str, dict[str, Any]] = {
    "comparison": {"topologies": FOUR, "noise": CALM, "blocks": 3, "journeys_per_trial": 400},
    "noisy": {"topologies": FOUR[:2], "blocks": 3, "failing": {(2, "rest"): "steal_share"}},
    "two blocks": {"topologies": FOUR[:2], "blocks": 2},
    "one block": {"topologies": FOUR[:2], "blocks": 1},
    "bench": {"topologies": ("hybrid",), "blocks": 1},
    "noisy bench": {"topologies": ("hybrid",), "blocks": 1, "failing": {(1, "hybrid"): "steal_share"}},
    "wrong bench": {"topologies": ("rest",), "blocks": 1, "failing": {(1, "rest"): "parity"}},
    "meshed": {"topologies": ("hybrid", "grpc"), "blocks": 2, "mesh": "istio"},
}
"""Runs that several files read."""


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunFiles]:
    """Makes up a run in a new folder, and reads it."""
    return lambda **options: read_run(write_generated_run(tmp_path_factory.mktemp("run"), **options))


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes one of `RUNS` with its report, and returns its folder, which tests leave as it is."""

    @functools.cache
    def report(name: str) -> Path:
        folder = write_generated_run(tmp_path_factory.mktemp("run") / "run", **{"journeys_per_trial": 300} | RUNS[name])
        make_report(folder)
        return folder

    return report
