"""`python -m hops` as a user meets it."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from hops.__main__ import app
from hops.synthetic.traces import otlp_document, shop_trace, write_lines

SPANS = shop_trace(4, spans=12)
TRACE_ID = SPANS[0].trace_id


@pytest.fixture
def otlp_file(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(json.dumps(otlp_document([span])) for span in SPANS))
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_budget_prints_the_tree_and_a_table_that_adds_up(otlp_file):
    result = run("budget", "--otlp", otlp_file)
    assert result.exit_code == 0, result.output
    assert "edge router [CLIENT]" in result.output
    assert f"Hop budget of {SPANS[0].name}, trace {TRACE_ID}" in " ".join(result.output.split())
    total_ms = (SPANS[0].end_ns - SPANS[0].start_ns) / 1e6
    assert f"{total_ms:.6f}" in result.output
    assert "12 spans, no defect." in result.output


def test_budget_as_json(otlp_file):
    result = run("budget", "--otlp", otlp_file, TRACE_ID.upper(), "--json")
    (found,) = json.loads(result.stdout)
    assert sum(found["parts_ns"].values()) == found["total_ns"]
    assert found["crossings"]["wire:client→edge"] == 1


WRONG = {
    "no source": (["budget"], 2, "--jaeger URL"),
    "both sources": (["budget", "--jaeger", "http://127.0.0.1:9", "--otlp", "x", TRACE_ID], 2, "--otlp FILE"),
    "no trace id": (["budget", "--jaeger", "http://127.0.0.1:9"], 2, "TRACE_ID"),
    "no file": (["budget", "--otlp", "/nowhere/x.json"], 1, "/nowhere/x.json"),
    "no Jaeger": (["budget", "--jaeger", "http://127.0.0.1:9", TRACE_ID, "--patience", "0"], 1, "did not answer"),
    "no trace id at all": (["budget", "--jaeger", "http://127.0.0.1:9", "17"], 1, "is not a trace id of 32 hex digits"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_told(arguments, code, message):
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.output
    assert "Traceback" not in result.output


def test_an_unknown_trace_in_a_file_is_told(otlp_file):
    result = run("budget", "--otlp", otlp_file, "b" * 32)
    assert result.exit_code == 1
    assert f"no trace {'b' * 32} in {otlp_file}" in result.output


def test_benchmark_says_what_it_measured():
    result = run("benchmark", "--traces", 20, "--spans", 40, "--rounds", 1, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["gap_ns"] == 0
    assert found["traces_per_s"] > 0


def test_rows_of_a_whole_file(tmp_path):
    write_lines(tmp_path / "traces.jsonl", [(f"{number:032x}", "browse") for number in range(1, 9)], spans=12)
    result = run("rows", tmp_path / "traces.jsonl", "--out", tmp_path / "rows")
    assert result.exit_code == 0, result.output
    assert "8 hop budgets in" in result.output
    assert "96 spans, no defect." in result.output
    assert pl.read_parquet(tmp_path / "rows" / "hops.parquet")["trace_id"].n_unique() == 8
    as_json = json.loads(run("rows", tmp_path / "traces.jsonl", "--out", tmp_path / "rows", "--json").stdout)
    assert (as_json["budgets"], as_json["gap_ns"], as_json["quality"]["spans"]) == (8, 0, 96)


def test_rows_of_a_file_that_is_not_there(tmp_path):
    result = run("rows", tmp_path / "none.jsonl", "--out", tmp_path / "rows")
    assert result.exit_code == 1
    assert "none.jsonl" in result.stderr
    assert not (tmp_path / "rows").exists()
