"""The reader of Jaeger's query API, with a small server that imitates Jaeger."""

from __future__ import annotations

import json
import threading
from collections import Counter

import pytest
from fake_api import serving

from hops.errors import JaegerError
from hops.traces.jaeger import CONCURRENCY, read_traces

ROOT = {
    "traceId": "a" * 32, "spanId": "1" * 16, "name": "browse", "kind": 1, "startTimeUnixNano": "1767225600123456789",
    "endTimeUnixNano": "1767225600123456799",
}  # fmt: skip
CALL = ROOT | {"spanId": "2" * 16, "parentSpanId": "1" * 16, "kind": 3}
ANSWER = ROOT | {"spanId": "3" * 16, "parentSpanId": "2" * 16, "kind": 2}


def body(*spans):
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "client"}}]}
    component = {"resource": resource, "scopeSpans": [{"spans": spans}]}
    return json.dumps({"result": {"resourceSpans": [component]}}).encode()


@pytest.fixture
def api():
    with serving() as server:
        yield server


def path_of(trace_id):
    return f"/api/v3/traces/{trace_id}"


A, B, C = (letter * 32 for letter in "abc")


def test_a_trace_still_arriving_is_asked_for_again(api):
    arriving = iter([(404, b"{}"), (200, body(ROOT, CALL)), (200, body(ROOT, CALL, ANSWER))])
    api.routes = {path_of(A): lambda _: next(arriving)}
    traces = read_traces(api.url, [A, A.upper()], patience_s=10)
    assert [span.span_id[0] for span in traces[A]] == ["1", "2", "3"]
    assert len(api.asked) == 3


def test_patience_ends_with_what_arrived_in_the_order_of_the_ids(api):
    api.routes = {path_of(A): (200, body(ROOT, CALL, ANSWER)), path_of(C): (200, body(ROOT, CALL))}
    traces = read_traces(api.url, [C, B, A], patience_s=2)
    assert [(trace_id, len(spans)) for trace_id, spans in traces.items()] == [(C, 2), (A, 3)]
    counts = Counter(path for path, *_ in api.asked)
    assert counts[path_of(A)] == 1
    assert counts[path_of(B)] > 1


def test_few_requests_run_at_once(api):
    running, most, lock = 0, 0, threading.Lock()

    def respond(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return 200, body(ROOT)

    ids = [f"{number:032x}" for number in range(40)]
    api.routes = dict.fromkeys(map(path_of, ids), respond)
    assert len(read_traces(api.url, ids)) == 40
    assert 1 < most <= CONCURRENCY


BROKEN = {
    "an error": ((500, b"storage is down"), "answered 500: storage is down"),
    "a web page": ((200, b"<html>"), "did not answer with JSON; is it Jaeger's query API?"),
    "another JSON": ((200, b'{"data": []}'), "not a trace: .*has no `resourceSpans`"),
}


@pytest.mark.parametrize(("answer", "message"), BROKEN.values(), ids=BROKEN)
def test_a_useless_answer_is_an_error_that_names_the_address(api, answer, message):
    api.routes = {path_of(A): answer}
    with pytest.raises(JaegerError, match=message) as caught:
        read_traces(api.url, [A], patience_s=0.1)
    assert api.url in str(caught.value)


def test_nobody_there():
    with serving() as gone:
        pass
    with pytest.raises(JaegerError, match=rf"{gone.url} did not answer within 0.2 s"):
        read_traces(gone.url, [A], patience_s=0.2)


def test_no_ids_need_no_server():
    assert read_traces("http://127.0.0.1:9", []) == {}


@pytest.mark.parametrize("bad", ["", "xyz", "a" * 31, "../../etc", "g" * 32])
def test_an_invalid_id_is_refused(bad):
    with pytest.raises(JaegerError, match="is not a trace id of 32 hex digits"):
        read_traces("http://127.0.0.1:9", [bad])
