"""Every format is recognised by its content, and gives the same traces."""

from __future__ import annotations

import gzip
import json
import mmap
import os
import sys
import threading
from importlib import import_module

import pytest
from msgspec.structs import replace

from hops.errors import MalformedTraceError, SourceError
from hops.sources import compressed, files
from hops.sources.files import opened_file, read_file
from hops.sources.recognise import FORMATS, read_binary
from hops.traces.span import Kind
from synthetic.formats import WRITERS, foreign_trace, frame, jaeger_trace, otlp_message, write_traces, zipkin_trace
from synthetic.traces import otlp_document

from .content import read, read_broken

zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
TRACES = [foreign_trace(seed, 12) for seed in (1, 2, 3)]


def shape(spans, unit=1):
    return sorted(
        (one.trace_id, one.span_id, one.parent_id, one.name, one.service, one.start_ns // unit, one.end_ns // unit)
        for one in spans
    )


EVERY = [span for trace in TRACES for span in trace]


def file_of(kind):
    before, between, behind, written = WRITERS[kind]
    return before + between.join(map(written, TRACES)) + behind


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd.compress], ids=["", "gz", "zst"])
def test_a_format_is_recognised_and_keeps_every_span(kind, compress):
    kinds, spans = read(compress(file_of(kind)))
    assert kinds == {kind}
    unit = 1000 if kind in ("jaeger", "zipkin") else 1
    assert shape(spans, unit) == shape(EVERY, unit)
    kind_of = {span.span_id + span.trace_id: span.kind for span in spans}
    for span in EVERY:
        expected = Kind.UNSPECIFIED if kind == "zipkin" and span.kind is Kind.INTERNAL else span.kind
        assert kind_of[span.span_id + span.trace_id] is expected


def zstd_frames(message):
    return frame(zstd.compress(message))


OTLP, ZIPKIN = otlp_document(EVERY), [one for trace in TRACES for one in zipkin_trace(trace)]
OTHER_FORMS = {
    "OTLP as one document": (json.dumps(OTLP, indent=1).encode(), "otlp-json"),
    "OTLP with the name that scopes had once": (
        json.dumps(OTLP).replace('"scopeSpans"', '"instrumentationLibrarySpans"').encode(), "otlp-json"
    ),
    "OTLP with nothing written as null": (
        json.dumps(OTLP).replace('"parentSpanId": ""', '"parentSpanId": null').encode(), "otlp-json"
    ),
    "an answer of Jaeger's newer API": (json.dumps({"result": OTLP}).encode(), "otlp-json"),
    "an answer of Tempo's": (json.dumps({"batches": OTLP["resourceSpans"]}).encode(), "otlp-json"),
    "an answer of Tempo's newer API": (json.dumps({"trace": OTLP}).encode(), "otlp-json"),
    "traces in a list": (json.dumps([jaeger_trace(trace) for trace in TRACES]).encode(), "jaeger"),
    "Zipkin's spans in one list": (json.dumps(ZIPKIN).encode(), "zipkin"),
    "a span of Zipkin's a line": ("\n".join(map(json.dumps, ZIPKIN)).encode(), "zipkin"),
    "compressed messages of a Collector": (b"".join(map(zstd_frames, map(otlp_message, TRACES))), "otlp-framed"),
    "compressed JSON messages of a Collector": (
        b"".join(zstd_frames(json.dumps(otlp_document(trace)).encode()) for trace in TRACES), "otlp-framed"
    ),
    "blank lines and a byte order mark": (
        b"\xef\xbb\xbf" + file_of("otlp-json").replace(b"\n", b"\r\n\r\n"), "otlp-json"
    ),
    "UTF-16, as some shells write": (file_of("jaeger").decode().encode("utf-16"), "jaeger"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "kind"), OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_a_format_in_another_form(content, kind):
    kinds, spans = read(content)
    assert kinds == {kind}
    assert shape(spans, 1000) == shape(EVERY, 1000)


def test_ids_get_their_leading_zeros_and_the_parent_is_chosen_among_references():
    trace = jaeger_trace(TRACES[0])
    trace["traceID"] = "1f"
    for one in trace["spans"]:
        one["traceID"] = "1f"
        one["spanID"] = one["spanID"].lstrip("0")
        for reference in one["references"]:
            reference["traceID"] = "1f"
            reference["spanID"] = reference["spanID"].lstrip("0")
    trace["spans"][3]["references"].insert(0, {"refType": "FOLLOWS_FROM", "traceID": "1f", "spanID": "b"})
    trace["spans"][4]["references"].append({"refType": "FOLLOWS_FROM", "traceID": "77", "spanID": "c"})
    _, spans = read(json.dumps({"data": [trace]}).encode())
    assert {span.trace_id for span in spans} == {f"{0x1F:032x}"}
    assert [span.parent_id for span in spans] == [span.parent_id for span in TRACES[0]]
    assert spans[3].links == ((f"{0x1F:032x}", f"{0xB:016x}"),)
    assert spans[4].links == ((f"{0x77:032x}", f"{0xC:016x}"),)


DAMAGED = {
    "nothing": (b"", "file: is empty"),
    "a byte order mark": (b"\xef\xbb\xbf", "file: is empty"),
    "a byte order mark of UTF-16": (b"\xff\xfe", "file: is empty"),
    "words": (b"hello world", "begins with b'hello world': expected one of jaeger"),
    "other JSON": (b'{"name": "x", "version": 1}', "(it has: name, version): expected one of"),
    "cut off Jaeger": (file_of("jaeger")[:-40], "file: not JSON: Input data was truncated"),
    "cut off protobuf": (file_of("otlp-proto")[:-5], "cut off: the message at byte "),
    "cut off frames": (file_of("otlp-framed")[:-5], "cut off: the message at byte "),
    "cut off gzip": (gzip.compress(file_of("jaeger"))[:-20], "damaged or cut off after "),
    "cut off Zstandard": (zstd.compress(file_of("jaeger"))[:-20], "damaged or cut off after "),
    "Latin-1": ('{"data": [{"spans": [{"spanID": "é"}]}]}'.encode("latin-1"), "UTF-8"),
    "Latin-1 in other JSON": ('{"größe": 1}'.encode("latin-1"), "file: not UTF-8 at byte 2"),
    "UTF-16 in name": (b"\xff\xfe{\x00\x00\xdc}\x00", "begins as UTF-16, but is not valid UTF-16"),
    "a wrong type": (b'{"data": [{"spans": [{"spanID": "1", "startTime": "x", "duration": 1}]}]}',
                     "file.data[0].spans[0].startTime: Expected `int | float`, got `str`"),
    "a line": (file_of("otlp-json").replace(b'"resourceSpans"', b'"x"', 1), "file:1: JSON without the keys of a trace"),
    "nanoseconds": (b'[{"traceId": "1", "id": "2", "timestamp": 1790000000000000000, "duration": 5}]',
                    "file[0]: span 2: starts at 1,790,000,000,000,000,000"),
    "Zipkin version 1": (b'[{"traceId": "1", "id": "2", "binaryAnnotations": []}]',
                         "file[0]: is in version 1 of Zipkin's JSON"),
    "its annotations": (
        b'[{"traceId": "1", "id": "2", "annotations": [{"timestamp": 5, "value": "sr", "endpoint": {"ipv4": "::1"}}]}]',
        "file[0]: is in version 1 of Zipkin's JSON",
    ),
    "ids of zeros": (otlp_message([replace(TRACES[0][0], trace_id="0" * 32)]), "an all-zero id is not valid"),
    "blanks": (b" \n\n", "file: is blank: expected one of"),
    "ids too short": (otlp_message([replace(TRACES[0][0], trace_id="0af7")]), "ids have 2 and 8 bytes, not 16 and 8"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_errors_are_reported_with_their_place(content, message):
    assert message in read_broken(content)[0]


def test_lines_that_can_be_read_are():
    lines = file_of("otlp-json").splitlines()
    lines[1] = lines[1][:-3]
    said, spans = read_broken(b"\n".join(lines))
    assert said.startswith("file:2: ")
    assert said.endswith("; the other 2 lines were read")
    assert shape(spans) == shape([*TRACES[0], *TRACES[2]])


def test_one_span_that_is_wrong_does_not_keep_the_others_from_being_read():
    documents = {
        "jaeger": {"data": [jaeger_trace(trace) for trace in TRACES]},
        "zipkin": [one for trace in TRACES for one in zipkin_trace(trace)],
        "otlp-json": otlp_document(EVERY),
    }
    documents["jaeger"]["data"][1]["spans"][2]["duration"] = "x"
    documents["zipkin"][14]["duration"] = "x"
    documents["otlp-json"]["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["spanId"] = "zz"
    found = {kind: read_broken(json.dumps(document).encode()) for kind, document in documents.items()}
    assert {kind: len(spans) for kind, (_, spans) in found.items()} == {
        "jaeger": len(TRACES[0]) + len(TRACES[2]), "zipkin": len(EVERY) - 1, "otlp-json": len(EVERY) - 1,
    }  # fmt: skip
    assert found["jaeger"][0].startswith("file.data[1].spans[2].duration: ")
    assert found["zipkin"][0].startswith("file[14].duration: ")
    assert found["otlp-json"][0].startswith("file.resourceSpans[0].scopeSpans[0].spans[1].spanId: 'zz' is neither")


@pytest.mark.parametrize("form", ["message", "frames"])
def test_one_span_that_is_wrong_in_protobuf_does_not_keep_the_others_from_being_read(form):
    bad = replace(EVERY[1], trace_id="0af7"), replace(EVERY[2], end_ns=2**63)
    messages = [otlp_message([*TRACES[0], *bad]), otlp_message(TRACES[1]), otlp_message(TRACES[2])]
    said, spans = read_broken(b"".join(map(frame, messages) if form == "frames" else messages))
    assert shape(spans) == shape(EVERY)
    assert said.startswith("file, message at byte 0")
    assert "ids have 2 and 8 bytes, not 16 and 8" in said


@pytest.mark.parametrize("cut", [1, 40])
@pytest.mark.parametrize(
    "document",
    [{"data": [jaeger_trace(trace) for trace in TRACES]}, {"result": otlp_document(EVERY)}],
    ids=["jaeger", "otlp-json"],
)
def test_a_document_that_is_cut_off_is_read_as_far_as_it_goes(document, cut):
    said, spans = read_broken(json.dumps(document, indent=1).encode()[:-cut])
    assert "was read" in said
    assert {span.span_id for span in TRACES[0]} & {span.span_id for span in spans}


def test_one_component_that_is_cut_off_is_read_as_far_as_it_goes():
    whole = otlp_document(TRACES[0])["resourceSpans"]
    text = json.dumps({"resourceSpans": whole}, indent=1)
    at = [place for place in range(len(text)) if text.startswith('"spanId"', place)]
    for cut, spans_before in ((at[2], 2), (at[-1], len(at) - 1)):
        said, spans = read_broken(text[:cut].encode())
        assert "was read" in said
        assert len(spans) == spans_before
        services = {span.span_id: span.service for span in TRACES[0]}
        assert {span.span_id: span.service for span in spans}.items() <= services.items()
    # The component of these spans comes after them, and is cut off.
    behind = [{"scopeSpans": one["scopeSpans"], "resource": one["resource"]} for one in whole[:1]]
    said, spans = read_broken(json.dumps({"resourceSpans": behind})[:-100].encode())
    assert spans == []


@pytest.mark.parametrize("kind", ["otlp-json", "otlp-framed"])
@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress], ids=["gz", "zst"])
def test_a_compressed_file_that_is_cut_off_is_read_as_far_as_it_goes(kind, compress):
    before, between, behind, written = WRITERS[kind]
    many = [foreign_trace(seed, 12) for seed in range(200)]
    content = compress(before + between.join(map(written, many)) + behind)
    said, spans = read_broken(content[: len(content) * 3 // 4])
    assert said.startswith("file: compressed, but damaged or cut off after ")
    assert shape(many[0]) == shape(spans[: len(many[0])])
    assert len(spans) > len(many[0]) * 50


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress, zstd_frames], ids=["gz", "zst", "frame"])
def test_a_decompression_bomb_is_refused_before_it_is_unpacked(pack):
    bomb = pack(file_of("jaeger") + bytes(compressed.RATIO_CHECKED_FROM + 2**20))
    said, spans = read_broken(bomb)
    assert "decompresses to more than 100 times its size" in said
    assert "pass the plain file" in said
    assert spans == []


def test_input_has_a_largest_size(monkeypatch):
    monkeypatch.setattr(compressed, "MAX_BYTES", 10_000)
    said, _ = read_broken(gzip.compress(file_of("jaeger")))
    assert said.startswith("file: more than ")


def test_control_characters_in_names_are_shown_and_not_obeyed():
    trace = jaeger_trace(TRACES[0])
    trace["spans"][0]["operationName"] = "GET \x1b[2J/é"
    assert "GET \\x1b[2J/é" in {span.name for span in read(json.dumps({"data": [trace]}).encode())[1]}


@pytest.mark.parametrize(
    "document",
    [
        {"spans": [{"traceID": "\x1b[2J", "spanID": "1", "startTime": 1, "duration": 1}]},
        {"traceId": "\x1b[2J", "id": "1", "timestamp": 1, "duration": 1},
    ],
    ids=["jaeger", "zipkin"],
)
def test_control_characters_in_ids_are_shown_and_not_obeyed(document):
    [span] = read(json.dumps(document).encode())[1]
    assert span.trace_id.endswith("0\\x1b[2j")


def test_a_pipe_is_read_and_one_without_a_writer_is_not_waited_for(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[file_of("jaeger")])
    writer.start()
    with opened_file(str(pipe)) as file:
        assert sum(len(batch) for _, batch in read_file(file, "pipe")) == len(EVERY)
    writer.join()
    monkeypatch.setattr(files, "PIPE_WAIT_S", 0.1)
    with pytest.raises(SourceError, match="nothing was written to this pipe"):
        opened_file(str(pipe))
    with pytest.raises(SourceError, match="neither a file nor a pipe"):
        opened_file("/dev/zero")


def test_a_format_can_be_forced():
    assert read(file_of("otlp-proto"), "otlp-proto")[0] == {"otlp-proto"}
    with pytest.raises(MalformedTraceError, match="not OTLP protobuf"):
        read(file_of("jaeger"), "otlp-proto")
    with pytest.raises(MalformedTraceError, match="is Jaeger's JSON, but --format says Zipkin v2 JSON"):
        read(file_of("jaeger"), "zipkin")


def test_a_large_message_is_not_taken_for_a_length_and_what_follows():
    data = memoryview(mmap.mmap(-1, 180_000_000))
    data[:5] = b"\x0a\xa0\x9c\x01\x0a"  # a component of 20,000 bytes, or a length of 178,297,857
    for follows, kind in ((b"\x00", "otlp-framed"), (b"\x0a", "otlp-proto")):
        data[20_004:20_005] = follows
        assert read_binary(data, "file", bytes(data[:4096]))[0] == kind


def test_large_files_are_like_small_ones(tmp_path):
    for kind in WRITERS:
        assert write_traces(tmp_path / kind, kind, 5, spans=12, shapes=2) == 60
        _, spans = read((tmp_path / kind).read_bytes())
        assert len(spans) == 60
        assert {span.trace_id for span in spans} == {f"{number:032x}" for number in range(1, 6)}
