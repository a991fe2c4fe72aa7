"""Which columns and files a run may lack."""

from __future__ import annotations

import polars as pl

from hops.run.files import read_run
from hops.run.rows import AT_EDGE, QUEUED


def test_journeys_of_a_run_without_an_edge_have_no_time_there(folder):
    path = folder / "journeys.parquet"
    pl.read_parquet(path).drop(*AT_EDGE, strict=False).write_parquet(path)
    journeys = read_run(folder).journeys
    assert [journeys[name].null_count() for name in AT_EDGE] == [journeys.height] * 2


def test_calls_say_when_they_waited_where_the_run_kept_it(folder):
    calls = read_run(folder).calls
    assert [calls[name].null_count() for name in QUEUED] == [calls.height] * 2
    path = folder / "calls.parquet"
    pl.read_parquet(path).with_columns(pl.lit(7).alias(name) for name in QUEUED).write_parquet(path)
    assert [read_run(folder).calls[name].unique().to_list() for name in QUEUED] == [[7], [7]]


def test_a_run_that_kept_no_call_paths_is_read(folder):
    kept = read_run(folder).paths
    assert kept.height
    (folder / "paths.parquet").unlink()
    assert read_run(folder).paths.equals(kept.clear())
