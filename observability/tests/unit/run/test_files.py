"""Runs of earlier versions are read as they are."""

from __future__ import annotations

import polars as pl

from hops.analysis.summary import analyse
from hops.run.files import read_run
from hops.synthetic.run import write_generated_run


def test_a_run_from_before_crossings_on_the_path_were_counted_is_read(tmp_path):
    folder = write_generated_run(tmp_path, topologies=["rest"], blocks=1, journeys_per_trial=100)
    path = folder / "hops.parquet"
    pl.read_parquet(path).drop("on_path").write_parquet(path)
    run = read_run(folder)
    assert run.hops["on_path"].null_count() == run.hops.height > 0
    assert analyse(run, name="old")["topologies"]["rest"]["sidecars"] == {}
