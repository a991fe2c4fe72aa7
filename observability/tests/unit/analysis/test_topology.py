"""From the generator's rows and traces to `summary.json`."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

from hops.analysis.latencies import latencies_of
from hops.analysis.observer import samplings_of
from hops.analysis.topology import summarise_topology
from hops.budget.parts import budgets_of
from hops.errors import MalformedJourneysError, MalformedRunError, NotEnoughDataError
from hops.kinds import analyse
from hops.run.files import read_document, write_summary
from hops.run.rows import JOURNEYS, SAMPLE, UPDATES, hops_frame, read_rows, write_parquet
from synthetic.traces import BASE_NS, shop_trace

TRACED = 60
COUNT = 300


@pytest.fixture(scope="module")
def hops():
    return hops_frame(budgets_of(shop_trace(seed) for seed in range(TRACED))[0]).with_columns(block=1)


@pytest.fixture
def journeys_file(tmp_path, hops):
    budgets, _ = budgets_of(shop_trace(seed) for seed in range(TRACED))
    rng = random.Random(1)
    rows = []
    for seq in range(COUNT):
        budget = budgets[seq] if seq < TRACED else None
        latency = budget.total_ns if budget else int(rng.lognormvariate(16.5, 0.4))
        intended = BASE_NS + seq * 50_000_000
        row = {
            "seq": seq, "journey": budget.journey if budget else rng.choice(("browse", "checkout")), "channel": "web",
            "mode": "open", "intended_ns": intended, "started_ns": intended + 1000, "ended_ns": intended + latency,
            "latency_ns": latency, "outcome": "timeout" if seq == 0 or seq == 100 else "ok", "error": "",
            "bytes_in": 1000, "bytes_in_raw": 4000, "bytes_out": 100, "requests": 2, "waves": 1, "parallel": 2,
            "network_ns": 0, "opening_round_trips": 0, "sampled": budget is not None,
            "trace_id": budget.trace_id if budget else "", "answer_sha256": "00",
        }  # fmt: skip
        rows.append(row | ({"order_id": seq} if seq % 2 else {}))
    rng.shuffle(rows)
    path = tmp_path / "journeys.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def journeys_of(path):
    return read_rows(path).with_columns(block=1, topology=pl.lit("hybrid"))


def summarise(journeys, hops, *, sample=None, cpu_s=None, rss_mb=None):
    """Returns one topology's part of the summary of a trial that counted no bytes of connections."""
    return summarise_topology(
        journeys, hops, latencies_of(journeys), span_costs={}, sample=SAMPLE.to_frame() if sample is None else sample,
        cpu_s=cpu_s or {}, rss_mb=rss_mb or {}, cost={}, wire=None, seed=0,
    )  # fmt: skip


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
    journeys_file.write_text(journeys_file.read_text().replace('"timeout"', '"lost"'))
    with pytest.raises(MalformedJourneysError, match=r"unknown outcomes: lost; valid: ok, client"):
        read_rows(journeys_file)


def test_an_empty_replay_has_no_rows_and_no_summary(tmp_path, hops):
    path = tmp_path / "journeys.jsonl"
    path.touch()
    frame = journeys_of(path)
    assert frame.height == 0
    with pytest.raises(NotEnoughDataError):
        summarise(frame, hops)


def test_every_key_is_there_and_adds_up(journeys_file, hops):
    found = summarise(journeys_of(journeys_file), hops, cpu_s={"order": 3.0}, rss_mb={"order": 80.0})
    assert set(found) == {
        "throughput_per_s", "errors", "cpu_ms_per_journey", "rss_mb", "cost", "wire", "sidecars", "journeys",
    }  # fmt: skip
    assert found["wire"] is None
    assert found["errors"] == {"client": 0, "server": 0, "timeout": 2, "wrong_answer": 0}
    assert found["cpu_ms_per_journey"] == {"order": 10.0}
    assert found["rss_mb"] == {"order": 80.0}
    assert found["throughput_per_s"] == pytest.approx((COUNT - 2) / (COUNT * 0.05), rel=0.01)
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
    assert "unattributed" not in everything["budget_ms"]["mean"]


def test_bytes_on_the_wire_weigh_as_the_replay_does(journeys_file, hops, tmp_path):
    lines = [
        {"journey": "browse", "channel": "web", "wire_in": 100, "wire_out": 10, "answer": {"products": []}},
        {"journey": "browse", "channel": "web", "wire_in": 300, "wire_out": 30, "answer": {"products": [1]}},
        {"journey": "checkout", "channel": "web", "wire_in": 1000, "wire_out": 500, "answer": None},
        {"journey": "checkout", "channel": "partner", "wire_in": 9000, "wire_out": 900, "answer": None},
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    frame = journeys_of(journeys_file).with_columns(
        journey=pl.when(pl.col("journey") == "browse").then(pl.lit("browse")).otherwise(pl.lit("checkout"))
    )
    cells = summarise(frame, hops, sample=read_rows(path, SAMPLE))["journeys"]
    assert (cells["browse"]["wire_in_mean"], cells["browse"]["wire_out_mean"]) == (200.0, 20.0)
    assert (cells["checkout"]["wire_in_mean"], cells["checkout"]["wire_out_mean"]) == (1000.0, 500.0)
    expected = (200 * cells["browse"]["count"] + 1000 * cells["checkout"]["count"]) / COUNT
    assert cells["all"]["wire_in_mean"] == pytest.approx(expected)
    assert cells["all"]["bytes_in_raw_mean"] == 4000


def test_a_journey_without_a_sample_has_no_bytes_on_the_wire(journeys_file, hops):
    cells = summarise(journeys_of(journeys_file), hops)["journeys"]
    assert {cell["wire_in_mean"] for cell in cells.values()} == {None}


def test_traces_of_failed_journeys_are_left_out(journeys_file, hops):
    found = summarise(journeys_of(journeys_file), hops)
    assert found["journeys"]["all"]["traces"] == TRACED - 1


def test_a_sidecars_time_is_that_of_its_crossings_on_the_path(journeys_file, hops):
    """In every trace, one of two crossings was off the path and cost nothing; the other took 4 ms."""

    def cross(proxy, ns, on_path):
        figures = {"ns": ns, "crossings": 2, "on_path": on_path}
        literals = {name: pl.lit(value, dtype=pl.Int64) for name, value in figures.items()}
        return hops.filter(pl.col("part") == "proxy:edge").with_columns(part=pl.lit(f"proxy:{proxy}"), **literals)

    added = [cross("order-outbound", 4_000_000, 1), cross("user-inbound", 0, 0)]
    assert summarise(journeys_of(journeys_file), pl.concat([hops, *added]))["sidecars"] == {
        "order-outbound": {"crossings_per_journey": 2.0, "ms_per_crossing": pytest.approx(4.0)},
        "user-inbound": {"crossings_per_journey": 2.0, "ms_per_crossing": None},
    }
    assert summarise(journeys_of(journeys_file), hops)["sidecars"] == {}


def test_a_run_without_traces_has_no_budget(journeys_file, hops):
    frame = journeys_of(journeys_file).with_columns(sampled=pl.lit(value=False))
    found = summarise(frame, hops.clear())
    assert found["journeys"]["all"]["traced_mean_ms"] is None
    assert found["journeys"]["all"]["budget_ms"]["mean"] == {}
    assert samplings_of(frame) == []


def test_a_summary_survives_the_disk(make_run, tmp_path):
    summary = analyse(make_run(topologies=["hybrid"], blocks=1, journeys_per_trial=200), name="night")
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


def test_parquet_is_whole_or_not_there(tmp_path, hops):
    write_parquet(hops, tmp_path / "hops.parquet")
    assert pl.read_parquet(tmp_path / "hops.parquet").equals(hops)
    with pytest.raises(OSError, match="No such file"):
        write_parquet(hops, tmp_path / "missing" / "hops.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["hops.parquet"]
