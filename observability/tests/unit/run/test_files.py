"""How a run's files are read."""

from __future__ import annotations

import polars as pl
import pytest

from hops.errors import MalformedRunError
from hops.run.files import read_run
from hops.run.rows import AT_EDGE, QUEUED
from synthetic.run import write_generated_run


def without(folder, *columns):
    path = folder / "journeys.parquet"
    pl.read_parquet(path).drop(*columns, strict=False).write_parquet(path)


def test_journeys_of_a_run_without_an_edge_have_no_time_there(tmp_path):
    folder = write_generated_run(tmp_path, topologies=["rest"], blocks=1, journeys_per_trial=100)
    without(folder, *AT_EDGE)
    journeys = read_run(folder).journeys
    assert [journeys[name].null_count() for name in AT_EDGE] == [journeys.height] * 2


def test_a_column_that_every_run_has_is_missed(tmp_path):
    folder = write_generated_run(tmp_path, topologies=["rest"], blocks=1, journeys_per_trial=100)
    without(folder, "network_ns")
    with pytest.raises(MalformedRunError, match=r"journeys\.parquet: missing columns: network_ns"):
        read_run(folder)


def test_calls_say_when_they_waited_where_the_run_kept_it(tmp_path):
    folder = write_generated_run(tmp_path, topologies=["rest"], blocks=1, journeys_per_trial=100)
    calls = read_run(folder).calls
    assert [calls[name].null_count() for name in QUEUED] == [calls.height] * 2
    path = folder / "calls.parquet"
    pl.read_parquet(path).with_columns(pl.lit(7).alias(name) for name in QUEUED).write_parquet(path)
    assert [read_run(folder).calls[name].unique().to_list() for name in QUEUED] == [[7], [7]]


def test_a_run_that_kept_no_call_paths_is_read(tmp_path):
    folder = write_generated_run(tmp_path, topologies=["rest"], blocks=1, journeys_per_trial=100)
    kept = read_run(folder).paths
    assert kept.height
    (folder / "paths.parquet").unlink()
    assert read_run(folder).paths.equals(kept.clear())
