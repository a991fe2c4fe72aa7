"""Makes spans from the lines of `varnishncsa`, and sends them to the trace store.

A client's request is a SERVER span of the cache; the cache's fetch from the edge is a CLIENT span below it. Varnish's
transaction numbers are the span ids, because the VCL sends the fetch's number to the edge.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from mesh.description.topology import EDGE_CACHE

FORMAT = "\\t".join(
    (
        *("%{Varnish:side}x", "%{Varnish:vxid}x", "%{VSL:Begin[2]}x", "%{traceparent}i", "%{Varnish:handling}x"),
        *(f"%{{VSL:Timestamp:{name}[1]}}x" for name in ("Start", "Resp", "BerespBody", "Error")),
        *("%s", "%m", "%U"),
    )
)
SAMPLED = 'ReqHeader:traceparent ~ "-01$" or BereqHeader:traceparent ~ "-01$"'
SERVER, CLIENT = 2, 3
"""Kinds of spans in OTLP."""
STATUS = "shop.edge_cache"
"""Attribute of the cache's SERVER span: `hit`, `miss` or `pass`."""
BATCH_S = 0.25
POST_LIMIT_S = 10.0
NS_PER_S = 1_000_000_000


def span_of(line: str) -> dict[str, Any] | None:
    """The span that a line describes, in OTLP's JSON; None if the span belongs to no trace, or has no end."""
    fields = line.rstrip("\n").split("\t", 11)
    if len(fields) != 12:
        return None
    side, number, above, traceparent, handling, began, answered, fetched, failed, status, method, path = fields
    trace_id, parent_id = [*traceparent.split("-"), "", "", ""][1:3]
    ended = answered if side == "c" else next((one for one in (fetched, failed) if one != "-"), "-")
    if len(trace_id) != 32 or "-" in (began, ended):
        return None
    attributes: dict[str, str] = {"http.request.method": method, "url.path": path}
    if side == "c":
        attributes[STATUS] = handling
    return {
        "traceId": trace_id,
        "spanId": _id(number),
        "parentSpanId": parent_id if side == "c" else _id(above),
        "name": f"{method} {handling}" if side == "c" else method,
        "kind": SERVER if side == "c" else CLIENT,
        "startTimeUnixNano": str(_ns(began)),
        "endTimeUnixNano": str(_ns(ended)),
        "attributes": [
            *({"key": name, "value": {"stringValue": value}} for name, value in attributes.items()),
            {"key": "http.response.status_code", "value": {"intValue": status if status.isdigit() else "0"}},
        ],
    }


def _id(number: str) -> str:
    return number.zfill(16)[-16:]


def _ns(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    return int(whole) * NS_PER_S + int(part.ljust(9, "0")[:9])


def document_of(spans: list[dict[str, Any]]) -> bytes:
    """A request to export spans (OTLP over HTTP, as JSON)."""
    service = {"key": "service.name", "value": {"stringValue": EDGE_CACHE}}
    scope = {"scope": {"name": "varnishncsa"}, "spans": spans}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [scope]}]}).encode()


def send(spans: list[dict[str, Any]], otlp: str) -> None:
    """Sends spans to the trace store; raises an OSError if it cannot be reached, or refuses them."""
    connection = http.client.HTTPConnection(otlp, timeout=POST_LIMIT_S)
    try:
        connection.request("POST", "/v1/traces", document_of(spans), {"Content-Type": "application/json"})
        if (answer := connection.getresponse()).status != http.client.OK:
            raise OSError(f"{otlp} refused {len(spans)} spans: {answer.status} {answer.reason}")
    finally:
        connection.close()


def batches(lines: queue.SimpleQueue[str | None]) -> Iterator[list[dict[str, Any]]]:
    """Yields a batch for each `BATCH_S` in which lines arrive, also if they never pause, until the lines end."""
    while (line := lines.get()) is not None:
        spans, until = [span_of(line)], monotonic() + BATCH_S
        try:
            while (left_s := until - monotonic()) > 0 and (line := lines.get(timeout=left_s)) is not None:
                spans.append(span_of(line))
        except queue.Empty:
            pass
        yield [span for span in spans if span is not None]
        if line is None:
            return


def main() -> None:
    """Follows the log of a running Varnish until Varnish ends or this process is asked to stop."""
    options = argparse.ArgumentParser()
    for name in ("--log", "--workdir", "--otlp", "--ready"):
        options.add_argument(name, required=True)
    given = options.parse_args()
    command = [given.log, "-n", given.workdir, "-t", "20", "-b", "-c", "-q", SAMPLED, "-F", FORMAT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as log:  # noqa: S603
        signal.signal(signal.SIGTERM, lambda *_: log.terminate())
        assert log.stdout is not None
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(log.stdout, lines), daemon=True).start()
        Path(given.ready).touch()
        for spans in batches(lines):
            if spans:
                send(spans, given.otlp)


def _read(stream: Any, lines: queue.SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


if __name__ == "__main__":
    os.nice(5)  # spans may be late, but requests may not
    main()
