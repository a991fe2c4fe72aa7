"""Variants of formats that occur in practice: other names, other wrappers, several documents in a file."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime, timedelta, timezone
from functools import cache

import pytest

from hops.traces.otlp import KINDS
from hops.traces.span import Span
from synthetic.formats import foreign_trace, jaeger_trace, zipkin_trace
from synthetic.traces import otlp_document

from .content import read, read_broken

NS_PER_S = 1_000_000_000
V_TYPES = {"STRING": "vStr", "BOOL": "vBool", "INT64": "vInt64", "FLOAT64": "vFloat64", "BINARY": "vBinary"}
TRACES = [foreign_trace(seed, 10) for seed in (1, 2, 3)]
EVERY = [span for trace in TRACES for span in trace]


@cache
def spans_of(content: bytes | str) -> list[Span]:
    return read(content)[1]


def lines_of(values: list) -> str:
    return "\n".join(map(json.dumps, values))


def pretty(values: list, indent: int | str = 1) -> str:
    """Returns the output of `jq .` for these values."""
    return "\n".join(json.dumps(value, indent=indent) for value in values)


# Spans as Jaeger stores them in Elasticsearch: with `tags.as-fields`, each tag is a field, whose name has no dots.


def store_documents(dot: str = "@", as_fields: str = ".", trace: list[Span] | None = None) -> list[dict]:
    """Makes Elasticsearch documents from spans.

    Args:
        dot: What replaces dots in names of fields; a dot makes objects.
        as_fields: Regular expression that matches the tags that become fields.
        trace: The spans; by default, all spans.
    """
    documents = []
    for one in [trace] if trace else TRACES:
        written = jaeger_trace(one)
        for span in written["spans"]:
            process = written["processes"][span.pop("processID")]
            fields = {tag["key"]: tag["value"] for tag in span["tags"] if re.search(as_fields, tag["key"])}
            span["tags"] = [tag for tag in span["tags"] if tag["key"] not in fields]
            span["tag"] = {name.replace(".", dot): value for name, value in fields.items()} | {"retries": 3, "x": []}
            if dot == ".":
                span["tag"] = nest(span["tag"])
            span["process"] = process | {"tags": [], "tag": {f"host{dot}name": "h"}}
            documents.append(span | {"startTimeMillis": span["startTime"] // 1000})
    return documents


def nest(fields: dict) -> dict:
    """Converts fields whose names have dots to nested objects."""
    nested: dict = {}
    for name, value in sorted(fields.items()):
        *above, last = name.split(".")
        at = nested
        for key in above:
            at = at.setdefault(key, {})
        at[last] = value
    return nested


def hits(documents: list[dict]) -> list[dict]:
    return [{"_index": "jaeger-span-2026-01-01", "_id": str(at), "_source": one} for at, one in enumerate(documents)]


def answer(documents: list[dict]) -> dict:
    """Returns the response to a search that finds these documents."""
    return {"took": 1, "hits": {"total": {"value": 36}, "max_score": None, "hits": hits(documents)}}


ELASTICSEARCH = {
    **{f"fields with {dot!r} for a dot": lines_of(store_documents(dot)) for dot in ("@", "_", "-", "#", "/", "__")},
    "fields that are objects": lines_of(store_documents(".")),
    "the kind as a field, others as tags": lines_of(store_documents(as_fields="kind")),
    "the kind as a tag, others as fields": lines_of(store_documents(as_fields="^db")),
    "no fields": lines_of(store_documents(as_fields="^$")),
    "lines of elasticdump": lines_of(hits(store_documents(as_fields="^$"))),
    "lines of elasticdump with fields": lines_of(hits(store_documents())),
    "a search's answer": json.dumps(answer(store_documents())),
    "a search's answer, pretty": json.dumps(answer(store_documents()), indent=2),
    "answers of several searches": json.dumps({"responses": [answer(store_documents(trace=one)) for one in TRACES]}),
    "an answer in Kibana": json.dumps({"isPartial": False, "rawResponse": answer(store_documents())}, indent=2),
    "pages of a search, one after the other": pretty([answer(store_documents(trace=trace)) for trace in TRACES], 2),
    "a list of hits": json.dumps(hits(store_documents())),
    "traces and spans of OTLP as documents": lines_of(hits([otlp_document(trace) for trace in TRACES])),
}  # fmt: skip


# OTLP with the names of its protobuf fields, in all members or only in some.


def snake_case(value, only: str = "."):
    """Returns a value in which the keys that match an expression are in snake_case."""
    if isinstance(value, dict):
        return {
            re.sub("[A-Z]", lambda upper: f"_{upper[0].lower()}", key) if re.search(only, key) else key: snake_case(
                one, only
            )
            for key, one in value.items()
        }
    return [snake_case(one, only) for one in value] if isinstance(value, list) else value


def with_base64(value, encode=base64.b64encode):
    """Returns a value whose ids are in base64, and kinds by name."""
    if isinstance(value, list):
        return [with_base64(one, encode) for one in value]
    if not isinstance(value, dict):
        return value
    changed = {key: with_base64(one, encode) for key, one in value.items()}
    for key in changed.keys() & {"traceId", "spanId", "parentSpanId"}:
        changed[key] = encode(bytes.fromhex(changed[key])).decode()
    if "kind" in changed:
        changed["kind"] = f"SPAN_KIND_{KINDS[changed['kind']].value}"
    return changed


DOCUMENT = otlp_document(EVERY)
COMPONENTS = DOCUMENT["resourceSpans"]
LIBRARIES = "instrumentation_library_spans"
SNAKE_CASE = {
    "all names": json.dumps(snake_case(DOCUMENT), indent=1),
    "lines": lines_of([snake_case(otlp_document(trace)) for trace in TRACES]),
    **{
        f"only {only}": json.dumps(snake_case(DOCUMENT, only))
        for only in ("resourceSpans", "scopeSpans", "parentSpanId", "stringValue", "traceId|spanId", "UnixNano")
    },
    "the older name of scopes": json.dumps(snake_case(DOCUMENT)).replace('"scope_spans"', f'"{LIBRARIES}"'),
    "one component of each": json.dumps({"resourceSpans": [*COMPONENTS[:1], *snake_case(COMPONENTS[1:])]}),
    "inside an answer": json.dumps({"result": snake_case(DOCUMENT)}),
    "inside Tempo's answer": json.dumps({"batches": snake_case(COMPONENTS)}),
    "ids in base64 and kinds by name": json.dumps(snake_case(with_base64(DOCUMENT))),
    "ids in base64 without padding": json.dumps(snake_case(with_base64(DOCUMENT))).replace("=", ""),
    "ids in base64 for URLs": json.dumps(with_base64(DOCUMENT, base64.urlsafe_b64encode)),
}  # fmt: skip


# Spans in the JSON form of Jaeger's protobuf messages.


def moment(ns: int, hours: int) -> str:
    """Formats a time as RFC 3339 in a time zone."""
    at = datetime.fromtimestamp(ns // NS_PER_S, timezone(timedelta(hours=hours)))
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ns % NS_PER_S:09}{f'{hours:+03}:00' if hours else 'Z'}"


def proto_span(span: Span, *, hours: int = 0, full: bool = False) -> dict:
    """Returns a span as Jaeger writes it to Kafka with `encoding: json`.

    Args:
        span: The span.
        hours: Time zone of its times.
        full: Whether zero values are also written, and enums are written as numbers.
    """

    def encode(raw: str) -> str:
        return base64.b64encode(bytes.fromhex(raw)).decode()

    def tag(key: str, kind: str, value) -> dict:
        number = list(V_TYPES).index(kind)
        if full:
            return {
                "key": key, "vType": number, "vStr": "", "vBool": False, "vInt64": "0", "vFloat64": 0,
                V_TYPES[kind]: value,
            }  # fmt: skip
        return {"key": key} | ({"vType": kind} if number else {}) | {V_TYPES[kind]: value}

    trace_id, took = encode(span.trace_id), span.end_ns - span.start_ns
    parent = {"traceId": trace_id, "spanId": encode(span.parent_id)} | ({"refType": 0} if full else {})
    return {
        "traceId": trace_id, "spanId": encode(span.span_id), "operationName": span.name,
        "references": [parent] if span.parent_id else [], "flags": 1, "startTime": moment(span.start_ns, hours),
        "duration": f"{took // NS_PER_S}.{took % NS_PER_S:09}s",
        "tags": [
            tag("internal.span.format", "STRING", "otlp"),
            tag("error", "BOOL", True),
            tag("http.status_code", "INT64", "200"),
            tag("ratio", "FLOAT64", 0.5),
            tag("blob", "BINARY", "AAE="),
            tag("span.kind", "STRING", span.kind.value.lower()),
            *(tag(name, "STRING", value) for name, value in span.attributes.items()),
        ],
        "process": {"serviceName": span.service, "tags": [tag("host.name", "STRING", "h")]},
    }  # fmt: skip


def proto_trace(trace: list[Span]) -> dict:
    """Returns a trace whose processes are listed separately."""
    spans = [proto_span(span) | {"processId": span.service, "process": None} for span in trace]
    names = dict.fromkeys(span.service for span in trace)
    return {"spans": spans, "processMap": [{"processId": name, "process": {"serviceName": name}} for name in names]}


def proto_batches() -> list[dict]:
    """Returns a batch for each service: all its spans, with the service's process given once."""
    batches: dict[str, list[dict]] = {}
    for span in EVERY:
        written = proto_span(span)
        del written["process"]
        batches.setdefault(span.service, []).append(written)
    return [{"spans": spans, "process": {"serviceName": service}} for service, spans in batches.items()]


PROTOBUF = {
    "lines": lines_of([proto_span(span) for span in EVERY]),
    "another zone": lines_of([proto_span(span, hours=-7) for span in EVERY]),
    "with defaults and numbers of enums": lines_of([proto_span(span, full=True, hours=2) for span in EVERY]),
    "in snake_case": lines_of([snake_case(proto_span(span)) for span in EVERY]),
    "some names in snake_case": lines_of([snake_case(proto_span(one), "vStr|serviceName|startTime") for one in EVERY]),
    "ids in hex": lines_of([proto_span(span) | {"traceId": span.trace_id, "spanId": span.span_id} for span in EVERY]),
    "one after the other, pretty": pretty([proto_span(span) for span in EVERY]),
    "a list": json.dumps([proto_span(span) for span in EVERY]),
    "answers of its gRPC API": pretty([{"spans": [proto_span(span) for span in trace]} for trace in TRACES], 2),
    "traces with their processes apart": pretty([proto_trace(trace) for trace in TRACES]),
    "batches": lines_of(proto_batches()),
    "documents of Elasticsearch": lines_of(hits([proto_span(span) for span in EVERY])),
}


# Several documents in a file.

OF_FORMATS = {
    "jaeger": [{"data": [jaeger_trace(trace)]} for trace in TRACES],
    "jaeger, traces": [jaeger_trace(trace) for trace in TRACES],
    "jaeger, protobuf": [proto_span(span) for span in EVERY],
    "jaeger, elasticsearch": store_documents(),
    "otlp": [otlp_document(trace) for trace in TRACES],
    "otlp, snake_case": [snake_case(otlp_document(trace)) for trace in TRACES],
    "zipkin": [zipkin_trace(trace) for trace in TRACES],
    "zipkin, spans": [span for trace in TRACES for span in zipkin_trace(trace)],
}
JOINED = {
    "as of jq": pretty,
    "as of jq --tab": lambda values: pretty(values, "\t"),
    "with blank lines": lambda values: pretty(values, 4).replace("\n}\n{", "\n}\n\n\n{") + "\n\n",
    "with ends of lines of Windows": lambda values: pretty(values).replace("\n", "\r\n"),
    "files without an end of line": lambda values: "".join(json.dumps(value, indent=2) for value in values),
    "not indented": lambda values: pretty(values, 0),
    "all on one line": lambda values: " ".join(map(json.dumps, values)),
    "one behind the other on a line": lambda values: "".join(map(json.dumps, values)) + "\n",
    "the first on a line, the others not": lambda values: lines_of(values[:1]) + "\n" + pretty(values[1:]),
    "the last on a line, the others not": lambda values: pretty(values[:-1]) + "\n" + lines_of(values[-1:]),
}
CONCATENATED = {f"{form}, {way}": join(values) for form, values in OF_FORMATS.items() for way, join in JOINED.items()}


def shape(spans: list[Span], unit: int) -> list[tuple]:
    """Returns the facts about spans that a variant must preserve; Zipkin has no INTERNAL spans."""
    return sorted(
        (
            (span.trace_id, span.span_id, span.parent_id, span.name, span.service),
            (span.start_ns // unit, span.end_ns // unit),
            (span.kind.replace("INTERNAL", "UNSPECIFIED"), span.attributes.get("db.system.name", "")),
        )
        for span in spans
    )


@pytest.mark.parametrize(
    ("content", "unit"),
    [
        *(pytest.param(text, 1000, id=f"Elasticsearch: {form}") for form, text in ELASTICSEARCH.items()),
        *(pytest.param(text, 1, id=f"snake_case: {form}") for form, text in SNAKE_CASE.items()),
        *(pytest.param(text, 1, id=f"protobuf: {form}") for form, text in PROTOBUF.items()),
        *(pytest.param(text, 1000, id=f"concatenated: {form}") for form, text in CONCATENATED.items()),
    ],
)
def test_a_variant_of_a_format_has_the_same_spans(content: str, unit: int) -> None:
    assert shape(spans_of(content), unit) == shape(EVERY, unit)


BREAKS = {
    "cut off": lambda text: text[:-3],
    "cut off in the middle of a value": lambda text: text[: text.rindex('": ') + 4],
    "cut off behind a comma": lambda text: text[: text.rindex(",\n") + 1],
    "cut off behind a bracket": lambda text: text[: text.rindex("{") + 1],
    "a word too much": lambda text: text.replace('": ', '": oops ', 1),
    "a bracket too much": lambda text: text + "]",
}


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("form", OF_FORMATS)
@pytest.mark.parametrize("broken", [0, 1, -1])
def test_a_broken_document_is_refused_with_its_line_and_all_others_are_read(form, breaks, broken) -> None:
    documents = [json.dumps(value, indent=2) for value in OF_FORMATS[form]]
    line = sum(text.count("\n") + 1 for text in documents[: broken % len(documents)]) + 1
    others = [spans_of(text) for at, text in enumerate(documents) if at != broken % len(documents)]
    documents[broken] = breaks(documents[broken])
    said, spans = read_broken("\n".join(documents))
    if breaks is BREAKS["a bracket too much"]:
        line += documents[broken].count("\n")
    assert re.match(rf"file:{line}\D", said), said
    assert {span for one in others for span in shape(one, 1)} <= set(shape(spans, 1))


def test_a_line_that_is_no_json_is_refused_with_its_number() -> None:
    lines = [json.dumps(otlp_document(trace)) for trace in TRACES]
    said, spans = read_broken("\n".join([*lines[:2], "", "words", lines[2]]))
    assert said.startswith("file:4: begins with b'words\\n': expected one of jaeger")
    assert said.endswith("; the other 3 lines were read")
    assert shape(spans, 1) == shape(EVERY, 1)


NO_TRACES = {
    "requests": [
        {"timestamp": "2026-05-01T12:00:00Z", "id": "1f", "name": "GET /", "duration": 5.1, "operation_Id": "2a"}
    ],
    "dependencies": [{"id": "1f", "target": "db", "data": "SELECT 1", "duration": 5.1, "operation_ParentId": "2a"}],
    "traces": [{"message": "x", "severityLevel": 1, "itemType": "trace", "cloud_RoleName": "shop"}],
    "AppRequests": [{"TenantId": "t", "Id": "1f", "OperationId": "2a", "AppRoleName": "shop", "Type": "AppRequests"}],
    "its SDK's envelopes": [{"name": "Microsoft.ApplicationInsights.Request", "iKey": "k", "data": {"baseType": "R"}}],
    "its query API": [
        {"tables": [{"name": "PrimaryResult", "columns": [{"name": "id", "type": "string"}], "rows": []}]}
    ],
    "its older query API": [{"Tables": [{"TableName": "T", "Columns": [{"ColumnName": "id"}], "Rows": []}]}],
}


@pytest.mark.parametrize("rows", NO_TRACES.values(), ids=NO_TRACES)
@pytest.mark.parametrize("join", [lines_of, pretty, json.dumps], ids=["lines", "pretty", "a list"])
def test_application_insights_is_refused_by_its_name_with_what_to_do(rows, join) -> None:
    said, spans = read_broken(join(rows * 2))
    assert re.match(r"file.*Application Insights, which is not supported\. Have an OpenTelemetry Collector write", said)
    assert spans == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("timestamp [UTC],id,operation_Id,name\n5/1/2026,1f,2a,GET /\n",
         "file: is a CSV file from Application Insights"),
        (json.dumps({"Traces": [], "TraceSummaries": []}), "file: is in the format of AWS X-Ray, which is not"),
        (json.dumps({"@timestamp": "x", "trace": {"id": "1f"}, "transaction": {"id": "2a"}}),
         "file: is in the format of Elastic APM"),
        (json.dumps({"traceId": "1f", "spanId": "2a", "durationInNanos": 5}),
         "file: is in the format of OpenSearch's Data Prepper"),
        (json.dumps({"traceEvents": []}), "file: is in the format of Chrome's tracing"),
    ],
)  # fmt: skip
def test_other_formats_that_are_not_read_have_names(content: str, said: str) -> None:
    assert read_broken(content)[0].startswith(said)


def test_what_is_no_trace_among_documents_does_not_keep_the_others_from_being_read() -> None:
    service = {"_index": "jaeger-service-2026-01-01", "_source": {"serviceName": "a", "operationName": "GET /"}}
    for join in (lines_of, pretty, json.dumps):
        said, spans = read_broken(join([service, *hits(store_documents())]))
        assert "JSON without the keys of a trace (it has: serviceName, operationName)" in said
        assert shape(spans, 1000) == shape(EVERY, 1000)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"startTime": "yesterday"}, "startTime is yesterday, not a time such as 2026-05-01T12:00:00.123456789Z"),
        ({"startTime": "2026-02-30T00:00:00Z"}, "startTime is 2026-02-30T00:00:00Z, not a time"),
        ({"startTime": "0001-01-01T00:00:00Z"}, "starts at 0001-01-01T00:00:00Z, which is an impossible time"),
        ({"startTime": None}, "startTime is null, not a time"),
        ({"duration": "100ms"}, "duration is 100ms, not seconds such as 0.100s"),
        ({"traceId": "AAE="}, "traceId of span"),
        ({"spanId": "!"}, "'!' is neither 16 hex digits nor base64 of 8 bytes"),
        ({"tags": [{"key": 5}]}, "file:2.tags[0].key: Expected `str`, got `int`"),
    ],
)
def test_errors_in_protobuf_json_are_reported(change: dict, said: str) -> None:
    good, bad, other = map(proto_span, TRACES[0][:3])
    message, spans = read_broken(lines_of([good, bad | change, other]))
    assert message.startswith("file:2")
    assert said in message
    assert shape(spans, 1) == shape([TRACES[0][0], TRACES[0][2]], 1)


def test_references_of_protobuf_json_keep_their_types() -> None:
    child = TRACES[0][2]
    follows = {
        "traceId": base64.b64encode(bytes(15) + b"\x07").decode(),
        "spanId": "AAAAAAAAAAw=",
        "refType": "FOLLOWS_FROM",
    }
    written = proto_span(child)
    written["references"] = [follows, *written["references"]]
    (span,) = spans_of(json.dumps(written))
    assert span.parent_id == child.parent_id
    assert span.links == ((f"{7:032x}", f"{0xC:016x}"),)
