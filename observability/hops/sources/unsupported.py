"""Formats that are known but not supported: they are refused by name, with advice on what to do."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from hops.errors import MalformedTraceError
from hops.traces.typed_json import read_one

_APPLICATION_INSIGHTS = (
    "Application Insights, which is not supported. Have an OpenTelemetry Collector write the spans with its file "
    "exporter. Or make Zipkin v2 JSON from the tables requests (SERVER) and dependencies (CLIENT): operation_Id is the "
    "traceId, operation_ParentId the parentId, cloud_RoleName the service. Rows of traces are log lines, not spans"
)
_OTHERS = "which is not supported. Have an OpenTelemetry Collector write the spans with its file exporter"
_BY_KEY = {
    **dict.fromkeys(
        ("operation_Id", "operation_ParentId", "OperationId", "cloud_RoleName", "AppRoleName", "iKey", "itemType"),
        _APPLICATION_INSIGHTS,
    ),
    **dict.fromkeys(("Segments", "TraceSegmentDocuments", "TraceSummaries"), f"AWS X-Ray, {_OTHERS}"),
    **dict.fromkeys(("transaction", "processor"), f"Elastic APM, {_OTHERS}"),
    **dict.fromkeys(("durationInNanos", "traceGroup"), f"OpenSearch's Data Prepper, {_OTHERS}"),
    "traceEvents": "Chrome's tracing, which has no spans of services",
}
_OBJECT = msgspec.json.Decoder(dict[str, Raw])


def refuse_known(text: bytes | memoryview, where: str) -> list[str]:
    """Refuses JSON with the keys of an unsupported format, by `MalformedTraceError`; otherwise returns its keys."""
    members = read_one(_OBJECT, text, where)
    for key in members:
        if key in _BY_KEY:
            raise MalformedTraceError(f"{where}: is in the format of {_BY_KEY[key]}")
    for key in ("tables", "Tables"):
        if b'"columns"' in bytes(members.get(key, b"")).lower():
            raise MalformedTraceError(f"{where}: is an answer from the query API of {_APPLICATION_INSIGHTS}")
    return list(members)


def refuse_known_table(head: bytes, where: str) -> None:
    """Refuses a CSV file whose first line names columns of an unsupported format, as `refuse_known` does."""
    columns = head.partition(b"\n")[0].decode(errors="replace").replace('"', "").split(",")
    for column in columns:
        if column.strip() in _BY_KEY and len(columns) > 1:
            raise MalformedTraceError(f"{where}: is a CSV file from {_BY_KEY[column.strip()]}")
