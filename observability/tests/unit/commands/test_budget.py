"""`python -m hops`, as users run it."""

from __future__ import annotations

import html
import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

from hops.__main__ import app
from synthetic.formats import WRITERS, foreign_trace, jaeger_trace, write_traces
from synthetic.traces import otlp_document, shop_trace, write_lines

SPANS = shop_trace(4, spans=12)
TRACE_ID = SPANS[0].trace_id


@pytest.fixture
def otlp_file(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(json.dumps(otlp_document([span])) for span in SPANS))
    return path


def run(*arguments, **kwargs):
    return CliRunner().invoke(app, [str(one) for one in arguments], **kwargs)


def words_of(result):
    return " ".join(result.output.split())


def test_budget_prints_the_tree_and_a_table_that_adds_up(otlp_file):
    result = run("budget", otlp_file)
    assert result.exit_code == 0, result.output
    assert "edge router [CLIENT]" in result.output
    assert f"Hop budget of {SPANS[0].name}, trace {TRACE_ID}" in words_of(result)
    total_ms = (SPANS[0].end_ns - SPANS[0].start_ns) / 1e6
    assert f"{total_ms:.6f}" in result.output
    assert "Complete: 1 of 1 trace (100.0 %)" in words_of(result)
    # This is a trace of the shop, so the shop's conventions apply.
    assert "proxy:edge" in result.output


def test_budget_as_json(otlp_file):
    result = run("budget", otlp_file, "--trace", TRACE_ID.upper(), "--json")
    found = json.loads(result.stdout)
    one = found["traces"][TRACE_ID]
    assert sum(one["parts_ns"].values()) == one["total_ns"]
    assert one["crossings"]["wire:client→edge"] == 1
    assert found["inputs"] == [{"name": str(otlp_file), "format": "OTLP JSON", "spans": 12, "refused": ""}]


def test_a_folder_of_mixed_formats_and_what_is_none(tmp_path):
    for kind in WRITERS:
        write_traces(tmp_path / kind, kind, 20, spans=12)
    (tmp_path / "README.md").write_text("# Traces")
    (tmp_path / ".hidden").write_text("{}")
    result = run("budget", tmp_path, "--json")
    assert result.exit_code == 2, result.output
    found = json.loads(result.stdout)
    refused = [one for one in found["inputs"] if one["refused"]]
    assert [one["name"] for one in refused] == [str(tmp_path / "README.md")]
    assert found["refused"] == [one["refused"] for one in refused]
    assert found["trust"]["quality"]["duplicates"] > 0  # the same traces in five files
    assert found["trust"]["gap_ns"] == 0
    for one in found["operations"]:
        assert sum(one["parts_ns"].values()) == one["total_ns"]
        assert set(one["budget_ms"]) == {"mean", "p50_band", "p99_band"}
    printed = words_of(run("budget", tmp_path))
    assert "5 inputs were read, 1 input was refused (" in printed
    assert "begins with b'# Traces'" in printed


def test_a_pattern_and_standard_input(tmp_path):
    text = json.dumps({"data": [jaeger_trace(foreign_trace(seed, 12)) for seed in range(3)]})
    (tmp_path / "a.json").write_text(text)
    assert "3 traces" in words_of(run("budget", tmp_path / "*.json"))
    result = run("budget", "-", input=text)
    assert result.exit_code == 0, result.output
    assert "All times are whole microseconds" in words_of(result)


@pytest.mark.parametrize(
    ("page", "reason"),
    [("none/page.html", "there is no folder none"), *((page, "is a folder; give a file") for page in ("", ".", "/"))],
)
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_read(otlp_file, monkeypatch, page, reason):
    monkeypatch.chdir(otlp_file.parent)
    result = run("budget", otlp_file, "--html", page)
    assert result.exit_code == 2
    assert reason in words_of(result)
    assert "Hop budget" not in result.output


def test_a_page_that_needs_no_other_file(tmp_path):
    write_traces(tmp_path / "in", "jaeger", 40)
    result = run("budget", tmp_path / "in", "--html", tmp_path / "page.html", "--top", 2)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text()
    assert "How far to trust it" in page
    title = page.partition("<h1>")[2].partition("</h1>")[0]
    assert "takes" in title
    assert " ".join(result.stdout.split()).startswith(html.unescape(title))
    assert page.count('<table class="waterfall"') == 4
    assert "VALID" not in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)


def test_spans_without_room_are_those_with_the_least_time_on_the_path(tmp_path):
    file, page = tmp_path / "wide.json", tmp_path / "page.html"
    file.write_text(json.dumps(otlp_document(shop_trace(4, spans=1_300))))
    assert "1,260 more spans are not drawn: those with the least" in words_of(run("budget", file, "--html", page))
    assert "1,220 more spans are not drawn: those with the least time on the path." in page.read_text()


def test_names_from_a_file(tmp_path):
    write_traces(tmp_path / "in", "zipkin", 10)
    (tmp_path / "names.yaml").write_text('services: {"*-gateway": front, "cart": basket}')
    printed = words_of(run("budget", tmp_path / "in", "--mapping", tmp_path / "names.yaml"))
    assert "work:front" in printed
    assert "These patterns in the file of names match nothing: services: cart." in printed


WRONG = {
    "no source": ([], "SOURCE"),
    "no file": (["/nowhere/x.json"], "/nowhere/x.json: there is no such file or folder"),
    "no Jaeger": (["http://127.0.0.1:9"], "did not answer"),
    "no format": (["x", "--format", "xml"], "choose one of jaeger, otlp-json, otlp-proto, otlp-framed, zipkin"),
    "no moment": (["http://127.0.0.1:9", "--since", "soon"], "--since soon: give how long ago, such as 30s, 15m"),
    "no names": (["x", "--mapping", "/nowhere/names.yaml"], "/nowhere/names.yaml"),
    "no id": (["x", "--trace", "zzz"], "--trace zzz: a trace id consists of 1 to 32 hexadecimal digits"),
    "no window": (["http://127.0.0.1:9", "--since", "1h", "--until", "2h"], "--since 1h is not before --until 2h"),
    "nobody to ask": (["x", "--service", "a"], "--service can only be used with an address, but got x"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_refused_with_the_reason(arguments, message):
    result = run("budget", *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("others", [[], ["--trace", TRACE_ID]], ids=["alone", "beside another"])
def test_an_unknown_trace_in_a_file_is_reported(otlp_file, others):
    result = run("budget", otlp_file, "--trace", "b" * 32, *others)
    assert result.exit_code == 2
    assert f"No trace {'b' * 32} in" in words_of(result)
    assert (f"Hop budget of {SPANS[0].name}, trace {TRACE_ID}" in words_of(result)) is bool(others)


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
    assert result.exit_code == 2
    assert "none.jsonl" in result.stderr
    assert not (tmp_path / "rows").exists()


def test_a_trace_that_lasts_longer_than_its_root(draw, tmp_path):
    spans = draw("""
front publish     PRODUCER 0..2000000
`- worker process  CONSUMER 60000000..110000000
""")
    file, page = tmp_path / "traces.json", tmp_path / "page.html"
    file.write_text(json.dumps(otlp_document(spans)))
    said = "Beyond the root's end: 1 of 1 trace lasts longer, by 108.000 ms on average and 108.000 ms at most"
    printed = words_of(run("budget", file, "--html", page))
    assert said in printed
    assert "108.000000 ms of the trace lie after the end of its root, in no part." in printed
    assert said in page.read_text().replace("&#39;", "'")
    assert "after the root's end, mean" in page.read_text().replace("&#39;", "'")
    found = json.loads(run("budget", file, "--json").stdout)
    (one,) = found["traces"].values()
    assert (one["total_ns"], one["after_ns"]) == (2_000_000, 108_000_000)
    assert (found["operations"][0]["after_ms"], found["trust"]["going_on"], found["end_to_end"]) == (108, 1, False)

    whole = json.loads(run("budget", file, "--end-to-end", "--json").stdout)
    (one,) = whole["traces"].values()
    assert one["parts_ns"] == {
        "messaging:front→worker": 58_000_000, "work:worker": 50_000_000, "messaging:front": 2_000_000,
    }  # fmt: skip
    assert (one["total_ns"], one["after_ns"], whole["end_to_end"]) == (110_000_000, 0, True)
    assert "Each budget extends from the root's start to the end of the last span" in words_of(
        run("budget", file, "--end-to-end")
    )


def test_a_trace_whose_root_is_of_1970_is_named_and_in_no_figure(draw, tmp_path):
    file = tmp_path / "traces.jsonl"
    lines = []
    for number in range(21):
        document = otlp_document(draw(f"shop get SERVER 0..{100 + number}"))
        (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        span["traceId"] = f"{number + 1:032x}"
        if number == 20:
            span["startTimeUnixNano"] = "17220185000"
        lines.append(json.dumps(document))
    file.write_text("\n".join(lines))
    found = json.loads(run("budget", file, "--json").stdout)
    (operation,) = found["operations"]
    assert (operation["traces"], operation["latency_ms"]["mean"]) == (20, pytest.approx(109.5e-6))
    assert (found["trust"]["complete"], found["trust"]["quality"]["left_out"]) == (20, 1)
    assert found["trust"]["first"]["left_out"] == f"{21:032x}"
    printed = words_of(run("budget", file))
    reason = "Traces left out of all figures, because their root has no times or impossible times, or ends before"
    assert reason in printed
    assert f"The first is in trace {21:032x}" in printed
    file.write_text(lines[-1])
    alone = run("budget", file)
    assert alone.exit_code == 2
    assert reason in words_of(alone)


def test_traces_whose_times_may_be_in_another_unit_are_counted(draw, tmp_path):
    document = otlp_document(draw("shop get SERVER 0..100000000"))
    (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for name in ("startTimeUnixNano", "endTimeUnixNano"):
        span[name] = str(int(span[name]) // 1_000_000)
    file = tmp_path / "milliseconds.json"
    file.write_text(json.dumps(document))
    assert "Traces of 1970: 1. Their times count from 0, or have the wrong unit" in words_of(run("budget", file))
    assert json.loads(run("budget", file, "--json").stdout)["trust"]["early"] == 1
