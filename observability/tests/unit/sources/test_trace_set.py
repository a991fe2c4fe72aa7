"""Messages about inputs that were read completely, in part, or not at all."""

from __future__ import annotations

import json
import os

from hops.sources.trace_set import read_sources
from synthetic.formats import foreign_trace, jaeger_trace
from synthetic.traces import otlp_document, shop_trace


def test_inputs_are_counted_by_how_far_they_were_read(tmp_path):
    line = json.dumps(otlp_document(shop_trace(4, spans=12)))
    for name, text in {"a.json": line, "b.json": line, "c.jsonl": f"{line}\nnone\n", "d.json": ""}.items():
        (tmp_path / name).write_text(text)
    read = read_sources([str(tmp_path)])
    counted, partly, refused = read.said.splitlines()
    assert counted == (
        "2 inputs were read, 1 input was partly read, 1 input was refused (OTLP JSON): 36 spans in 1 trace."
    )
    assert partly.startswith(f"Partly read: {tmp_path}/c.jsonl:2: ")
    assert refused == f"Refused: {tmp_path}/d.json: is empty"
    assert read.refused == [partly.partition(": ")[2], refused.partition(": ")[2]]


def test_control_characters_in_the_name_of_a_file_are_shown_and_not_obeyed(tmp_path):
    file = tmp_path / os.fsdecode(b"\xff\x1b[2J.json")
    file.write_text("[]")
    assert read_sources([str(file)]).refused == [f"{tmp_path}/\\udcff\\x1b[2J.json: has no spans"]


def test_an_empty_source_is_not_the_whole_folder(monkeypatch):
    assert read_sources([""]).refused == ["a source is empty; for this folder, give ."]
    monkeypatch.setattr("sys.stdin", None)
    assert read_sources(["-"]).refused == ["standard input is closed"]


def test_each_format_is_named_once(tmp_path):
    one, other = json.dumps(otlp_document(shop_trace(4, spans=12))), json.dumps(jaeger_trace(foreign_trace(5, 12)))
    (tmp_path / "a.json").write_text(one)
    (tmp_path / "b.jsonl").write_text(f"{one}\n{other}")
    assert "(Jaeger's JSON, OTLP JSON)" in read_sources([str(tmp_path)]).said
