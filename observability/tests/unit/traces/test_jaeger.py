"""The reader of Jaeger's query API, with a small server that stands in for Jaeger."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hops.errors import JaegerError
from hops.traces.jaeger import fetch_traces, read_traces

ROOT = {
    "traceId": "a" * 32, "spanId": "1" * 16, "name": "browse", "kind": 1, "startTimeUnixNano": "1767225600123456789",
    "endTimeUnixNano": "1767225600123456799",
}  # fmt: skip
CALL = ROOT | {"spanId": "2" * 16, "parentSpanId": "1" * 16, "kind": 3}
ANSWER = ROOT | {"spanId": "3" * 16, "parentSpanId": "2" * 16, "kind": 2}


def body(*spans):
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "client"}}]}
    return json.dumps({"result": {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}})


@contextmanager
def jaeger(respond):
    """Serves `respond(trace_id, how_often_asked) -> (status, body)`; yields address and counts."""
    asked = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            trace_id = self.path.rsplit("/", 1)[-1]
            asked[trace_id] += 1
            status, text = respond(trace_id, asked[trace_id])
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_trace_still_arriving_is_asked_for_again():
    arriving = [(404, "{}"), (200, body(ROOT, CALL)), (200, body(ROOT, CALL, ANSWER))]
    seen = []
    with jaeger(lambda _, nth: arriving[min(nth, 3) - 1]) as (url, asked):
        found = read_traces(url, ["a" * 32, "A" * 32], patience_s=10, progress=lambda *at: seen.append(at))
    assert [span.span_id[0] for span in found.traces["a" * 32]] == ["1", "2", "3"]
    assert (found.missing, found.incomplete) == ([], [])
    assert asked == {"a" * 32: 3}
    assert seen[-1] == (1, 1)


async def test_patience_ends_and_says_what_is_missing_and_what_is_incomplete():
    def respond(trace_id, _):
        return {
            "a": (200, body(ROOT, CALL, ANSWER)),
            "b": (404, '{"error": {"httpCode": 404, "message": "No traces found"}}'),
            "c": (200, body(ROOT, CALL)),
        }[trace_id[0]]

    with jaeger(respond) as (url, asked):
        found = await fetch_traces(url, ["c" * 32, "b" * 32, "a" * 32], patience_s=2)
    assert list(found.traces) == ["c" * 32, "a" * 32]
    assert (found.missing, found.incomplete) == (["b" * 32], ["c" * 32])
    assert asked["a" * 32] == 1
    assert asked["b" * 32] > 1


async def test_no_more_requests_at_once_than_asked_for():
    running, most, lock = 0, 0, threading.Lock()

    def respond(_trace_id, _):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return 200, body(ROOT)

    with jaeger(respond) as (url, _):
        found = await fetch_traces(url, [f"{i:032x}" for i in range(40)], concurrency=3)
    assert len(found.traces) == 40
    assert most == 3


BROKEN = {
    "an error": ((500, "storage is down"), "answered 500: storage is down"),
    "a web page": ((200, "<html>"), "did not answer with JSON; is it Jaeger's query API?"),
    "another JSON": ((200, '{"data": []}'), "not a trace: .*has no `resourceSpans`"),
}


@pytest.mark.parametrize(("answer", "message"), BROKEN.values(), ids=BROKEN)
async def test_a_useless_answer_is_an_error_that_names_the_address(answer, message):
    with jaeger(lambda *_: answer) as (url, _), pytest.raises(JaegerError, match=message) as caught:
        await fetch_traces(url, ["a" * 32], patience_s=0.1)
    assert url in str(caught.value)


async def test_nobody_there():
    with jaeger(lambda *_: (404, "")) as (url, _):
        pass
    with pytest.raises(JaegerError, match=rf"{url} did not answer within 0.2 s"):
        await fetch_traces(url, ["a" * 32], patience_s=0.2)


async def test_no_ids_need_no_server():
    found = await fetch_traces("http://127.0.0.1:9", [])
    assert (found.traces, found.missing, found.incomplete) == ({}, [], [])


@pytest.mark.parametrize("bad", ["", "xyz", "a" * 31, "../../etc", "g" * 32])
async def test_an_invalid_id_is_refused(bad):
    with pytest.raises(JaegerError, match="is not a trace id of 32 hex digits"):
        await fetch_traces("http://127.0.0.1:9", [bad])
