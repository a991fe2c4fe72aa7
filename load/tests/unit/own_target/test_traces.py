from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import pytest

from experiment.own_target import traces
from experiment.own_target.traces import read_target_traces

WHOLE, SHORT = "a" * 32, "b" * 32


class _Zipkin(BaseHTTPRequestHandler):
    """Keeps only the last 16 digits of a trace's id, as a store with short ids does."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        _, _, trace_id = self.path.rpartition("/")
        kept = {WHOLE: WHOLE, SHORT: SHORT[16:]}.get(trace_id)
        span = {"traceId": kept, "id": "1" * 16, "name": "get", "kind": "SERVER", "timestamp": 1_700_000_000_000_000,
                "duration": 5, "localEndpoint": {"serviceName": "books"}}  # fmt: skip
        exists = self.path == "/api/v2/services" or kept
        self.send_response(200 if exists else 404)
        self.end_headers()
        self.wfile.write(json.dumps([span] if kept else []).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def store() -> Iterator[str]:
    """Address of a store with short ids."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Zipkin) as server:
        _Zipkin.asked.clear()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_limit_ends_reading_between_batches_and_reports_the_rest(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "BATCH", 1)
    clock = SimpleNamespace(monotonic=itertools.count().__next__, sleep=time.sleep)  # each reading adds 1 s
    monkeypatch.setattr(traces, "time", clock)
    output: list[str] = []
    ids = [WHOLE, *(f"{number:032x}" for number in range(9))]
    read = read_target_traces([store], ids, limit_s=4, say=output.append)
    assert set(read) == {WHOLE}
    of_traces = [path for path in _Zipkin.asked if "/trace/" in path]
    assert 0 < len(of_traces) < len(ids)
    assert output == [f"{len(ids) - len(of_traces)} of 10 traces could not be read within 4 s; give a smaller trace="]


def test_spans_of_a_trace_that_was_not_requested_are_left_out(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "QUIET_S", 0.0)
    read = read_target_traces([store], [WHOLE, SHORT])
    assert {trace_id: [span.service for span in spans] for trace_id, spans in read.items()} == {WHOLE: ["books"]}
