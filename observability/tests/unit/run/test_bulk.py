"""Rows of a file of traces: the same for any number of chunks and processes; mistakes are named."""

from __future__ import annotations

import json
import os

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from hops.budget.parts import budgets_of
from hops.errors import MalformedTraceError, NotEnoughDataError
from hops.run.bulk import write_rows
from hops.run.rows import calls_frame, hops_frame
from synthetic.traces import otlp_document, shop_trace, write_lines

TRACES = [shop_trace(seed, mesh=seed % 2 == 0) for seed in range(40)]
LINES = [json.dumps(otlp_document(trace)) for trace in TRACES]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text("\n".join(LINES) + "\n\n")
    return path


@pytest.mark.parametrize(("chunk_bytes", "processes"), [(1, 1), (1, 2), (100_000, 1), (10**9, 2)])
def test_rows_are_those_of_the_budgets_in_the_order_of_the_file(tmp_path, file, chunk_bytes, processes):
    made = write_rows(file, tmp_path / "rows", processes=processes, chunk_bytes=chunk_bytes)
    budgets, quality = budgets_of(TRACES)
    assert (made.budgets, made.gap_ns, made.quality) == (40, 0, quality)
    assert_frame_equal(pl.read_parquet(tmp_path / "rows" / "hops.parquet"), hops_frame(budgets))
    assert_frame_equal(pl.read_parquet(tmp_path / "rows" / "calls.parquet"), calls_frame(budgets))
    assert sorted(os.listdir(tmp_path / "rows")) == ["calls.parquet", "hops.parquet"]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_broken_line_is_named_by_number_and_nothing_is_left(tmp_path, file, processes):
    file.write_text("\n".join([*LINES[:30], "{oops", *LINES[30:]]))
    with pytest.raises(MalformedTraceError, match=r"traces\.jsonl:31: not JSON"):
        write_rows(file, tmp_path / "rows", processes=processes, chunk_bytes=1)
    assert os.listdir(tmp_path / "rows") == []


def test_a_trace_on_several_lines_is_refused(tmp_path, file):
    file.write_text("\n".join([*LINES, LINES[0]]))
    with pytest.raises(MalformedTraceError, match="traces spread over several lines: 1; put all spans of"):
        write_rows(file, tmp_path / "rows")
    assert os.listdir(tmp_path / "rows") == []


def test_a_trace_whose_root_is_on_another_line_than_its_other_spans_is_refused(tmp_path, file):
    """As a Collector's file exporter writes traces: a line for each component's batch."""
    root, others = ([span for span in TRACES[0] if bool(span.parent_id) is below] for below in (False, True))
    file.write_text("\n".join([*LINES[1:], *(json.dumps(otlp_document(spans)) for spans in (root, others))]))
    with pytest.raises(MalformedTraceError, match="traces spread over several lines: 1; put all spans of"):
        write_rows(file, tmp_path / "rows")
    assert os.listdir(tmp_path / "rows") == []


def test_a_file_without_a_trace(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    with pytest.raises(NotEnoughDataError, match=r"no trace with a root span in .*empty\.jsonl"):
        write_rows(empty, tmp_path / "rows")


def test_traces_written_in_bulk_are_each_of_its_own_id_and_journey(tmp_path):
    journeys = [(f"{number:032x}", name) for number, name in enumerate(["browse", "login", "browse"] * 5, 1)]
    assert write_lines(tmp_path / "traces.jsonl", journeys, spans=12, shapes=2) == 180
    write_rows(tmp_path / "traces.jsonl", tmp_path)
    rows = pl.read_parquet(tmp_path / "hops.parquet").select("trace_id", "journey").unique(maintain_order=True)
    assert rows.rows() == journeys
