"""How busy the processors were."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hops.analysis.in_use import in_use_of
from hops.run.files import RunFiles

TWO_S = 2_000_000_000


def run(machine: dict[str, object], *, cluster: dict[str, object] | None = None) -> RunFiles:
    """Makes two trials of two seconds each; the generator and Jaeger use more CPU than any part of the shop."""
    cpu_s = {"client": 1.5, "jaeger": 1.0, "order": 0.2, "graphql-gateway": 0.8, "postgres": 0.5}
    journeys = pl.DataFrame(
        {"topology": ["rest"] * 4, "block": [1, 1, 2, 2], "intended_ns": [0, 10, 500, 510]}
    ).with_columns(ended_ns=pl.Series([100, TWO_S, 600, TWO_S + 500]))
    manifest = {"topologies": {"rest": {}}, "machine": machine} | ({"cluster": cluster} if cluster else {})
    trials = [{"topology": "rest", "block": block, "used": True, "cpu_s": cpu_s} for block in (1, 2)]
    none = pl.DataFrame()
    return RunFiles(Path(), manifest, trials, journeys, none, none, none)  # type: ignore[arg-type]


def test_all_that_ran_counts_for_the_machine_and_the_shop_alone_for_the_busiest_component() -> None:
    assert in_use_of(run({"cores": 4})) == {
        "rest": {"machine": pytest.approx(4.0 / 2 / 4), "component": "graphql-gateway", "core": pytest.approx(0.4)}
    }


def test_in_a_cluster_its_processors_count_and_may_be_unknown() -> None:
    assert in_use_of(run({"cores": 4}, cluster={"cores": 8}))["rest"]["machine"] == pytest.approx(0.25)
    assert in_use_of(run({"cores": 4}, cluster={"kubernetes": "1.34"}))["rest"]["machine"] is None
