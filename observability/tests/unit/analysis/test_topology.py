"""From the generator's rows and traces to `summary.json`."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

from hops.analysis.observer import samplings_of
from hops.errors import MalformedJourneysError, MalformedRunError
from hops.kinds import analyse
from hops.run.documents.topology import TopologySummary
from hops.run.files import SAMPLE_FILE, read_document, write_summary
from hops.run.rows import JOURNEYS, SAMPLE, UPDATES, read_rows, write_parquet

COUNT = 300


@pytest.fixture(scope="module")
def run(make_run):
    return make_run(topologies=["hybrid"], blocks=1, journeys_per_trial=COUNT)


def cells_of(run):
    return analyse(run, name="night")["topologies"]["hybrid"]["journeys"]


def write_lines(path, rows):
    """Writes rows as the generator does, without values that are not known."""
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows))


@pytest.fixture
def journeys_file(run, tmp_path):
    rows = run.journeys.select(list(JOURNEYS)).with_columns(order_id=pl.when(pl.col("seq") % 2 == 1).then("seq"))
    write_lines(tmp_path / "journeys.jsonl", rows.sample(fraction=1, shuffle=True, seed=1).to_dicts())
    return tmp_path / "journeys.jsonl"


def test_journeys_are_read_in_order(journeys_file):
    frame = read_rows(journeys_file)
    assert frame.columns == list(JOURNEYS)
    assert frame["seq"].to_list() == list(range(COUNT))
    assert frame["order_id"].null_count() == COUNT // 2


BROKEN = {
    "not JSON": (JOURNEYS, "{oops\n", "does not contain rows written by the load generator"),
    "wrong type": (JOURNEYS, '{"seq": "first"}\n', "does not contain rows written by the load generator"),
    "columns missing": (JOURNEYS, '{"seq": 1, "journey": "browse"}\n', "rows lack channel, mode, intended_ns"),
    "a sample without wire": (SAMPLE, '{"journey": "browse", "channel": "web"}\n', "rows lack wire_in, wire_out"),
    "updates": (UPDATES, '{"user_id": 1, "position": 1}\n', "rows lack status, created_ns"),
}


@pytest.mark.parametrize(("schema", "text", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_rows_are_named(tmp_path, schema, text, message):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(MalformedJourneysError, match=message):
        read_rows(path, schema)


def test_an_unknown_outcome_is_named_with_the_valid_ones(journeys_file):
    journeys_file.write_text(journeys_file.read_text().replace('"ok"', '"lost"'))
    with pytest.raises(MalformedJourneysError, match=r"unknown outcomes: lost; valid: ok, client"):
        read_rows(journeys_file)


def test_an_empty_replay_has_no_rows(tmp_path):
    (tmp_path / "journeys.jsonl").touch()
    assert read_rows(tmp_path / "journeys.jsonl").height == 0


def test_every_key_is_there_and_adds_up(run, summary):
    found = summary["topologies"]["hybrid"]
    assert found.keys() == TopologySummary.__annotations__.keys() - {"edge_cache"}
    assert found["errors"] == {"client": 0, "server": 0, "timeout": 0, "wrong_answer": 0}
    wall_ns = run.journeys["ended_ns"].max() - run.journeys["intended_ns"].min()
    assert found["throughput_per_s"] == pytest.approx(COUNT / (wall_ns / 1e9))
    everything = found["journeys"]["all"]
    assert set(everything) == {
        "count", "errors", "requests_per_journey", "waves_mean", "parallel_mean", "bytes_in_mean", "bytes_in_raw_mean",
        "bytes_out_mean", "wire_in_mean", "wire_out_mean", "latency_ms", "latency_ci95", "budget_ms", "net_of_tracing",
        "traced_mean_ms", "traces",
    }  # fmt: skip
    assert set(everything["latency_ms"]) == {"mean", "p50", "p90", "p95", "p99", "p99_9", "max", "sd"}
    assert set(everything["latency_ci95"]) == {"mean", "p50", "p90", "p95", "p99", "p99_9"}
    for cell in found["journeys"].values():
        if cell["traces"]:
            assert sum(cell["budget_ms"]["mean"].values()) == pytest.approx(cell["traced_mean_ms"], rel=1e-12)
    assert sum(cell["count"] for name, cell in found["journeys"].items() if name != "all") == COUNT


def test_bytes_on_the_wire_weigh_as_the_replay_does(make_run):
    run = make_run(topologies=["hybrid"], blocks=1, journeys_per_trial=60)
    kinds = pl.when(pl.col("journey") == "browse").then(pl.lit("browse")).otherwise(pl.lit("checkout"))
    run = replace(run, journeys=run.journeys.with_columns(journey=kinds, channel=pl.lit("web")))
    sample = run.trial_path(1, "hybrid") / SAMPLE_FILE
    columns = ("journey", "channel", "wire_in", "wire_out", "answer")
    rows = [
        ("browse", "web", 100, 10, {"products": []}), ("browse", "web", 300, 30, {"products": [1]}),
        ("checkout", "web", 1000, 500, None), ("checkout", "partner", 9000, 900, None),
    ]  # fmt: skip
    write_lines(sample, [dict(zip(columns, row, strict=True)) for row in rows])
    cells = cells_of(run)
    assert (cells["browse"]["wire_in_mean"], cells["browse"]["wire_out_mean"]) == (200.0, 20.0)
    assert (cells["checkout"]["wire_in_mean"], cells["checkout"]["wire_out_mean"]) == (1000.0, 500.0)
    expected = (200 * cells["browse"]["count"] + 1000 * cells["checkout"]["count"]) / 60
    assert cells["all"]["wire_in_mean"] == pytest.approx(expected)
    assert cells["all"]["bytes_in_raw_mean"] == pytest.approx(run.journeys["bytes_in_raw"].mean())
    sample.unlink()
    assert {cell["wire_in_mean"] for cell in cells_of(run).values()} == {None}


def test_a_sidecars_time_is_that_of_its_crossings_on_the_path(run, summary):
    """In every trace, one of two crossings was off the path and cost nothing; the other took 4 ms."""

    def cross(proxy, ns, on_path):
        figures = {"ns": ns, "crossings": 2, "on_path": on_path}
        literals = {name: pl.lit(value, dtype=pl.Int64) for name, value in figures.items()}
        return run.hops.filter(pl.col("part") == "proxy:edge").with_columns(part=pl.lit(f"proxy:{proxy}"), **literals)

    added = [cross("order-outbound", 4_000_000, 1), cross("user-inbound", 0, 0)]
    found = analyse(replace(run, hops=pl.concat([run.hops, *added])), name="night")
    assert found["topologies"]["hybrid"]["sidecars"] == {
        "order-outbound": {"crossings_per_journey": 2.0, "ms_per_crossing": pytest.approx(4.0)},
        "user-inbound": {"crossings_per_journey": 2.0, "ms_per_crossing": None},
    }
    assert summary["topologies"]["hybrid"]["sidecars"] == {}


def test_a_run_without_traces_has_no_budget(run):
    untraced = run.journeys.with_columns(sampled=pl.lit(value=False))
    everything = cells_of(replace(run, journeys=untraced, hops=run.hops.clear()))["all"]
    assert (everything["traced_mean_ms"], everything["budget_ms"]["mean"]) == (None, {})
    assert samplings_of(untraced) == []


def test_a_summary_survives_the_disk(summary, tmp_path):
    path = tmp_path / "summary.json"
    write_summary(summary, path)
    assert read_document(path) == summary
    assert (summary["name"], summary["kind"], summary["mode"], summary["closed"]) == ("night", "bench", "open", None)


def test_a_figure_that_is_no_number_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_summary({"schema": 1, "name": float("nan")}, path)
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]
    assert path.read_text() == "{}"
    with pytest.raises(MalformedRunError, match="schema None and this version reads schema 3"):
        read_document(path)


def test_parquet_is_whole_or_not_there(run, tmp_path):
    write_parquet(run.hops, tmp_path / "hops.parquet")
    assert pl.read_parquet(tmp_path / "hops.parquet").equals(run.hops)
    with pytest.raises(OSError, match="No such file"):
        write_parquet(run.hops, tmp_path / "missing" / "hops.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["hops.parquet"]
