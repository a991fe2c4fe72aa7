from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from experiment.trial.exemplars import load, save
from hops.errors import JaegerError

CHOSEN = {"checkout": {"p50": "a", "p99": "b"}, "browse": {"p50": "a", "p99": "a"}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        trace_id = self.path.rpartition("/")[2]
        known = trace_id in self.server.traces  # type: ignore[attr-defined]
        self._answer(200 if known else 404, {"result": {"trace": trace_id}} if known else {"error": "unknown"})

    def do_POST(self) -> None:
        self.server.taken.append(self.rfile.read(int(self.headers["Content-Length"])))  # type: ignore[attr-defined]
        self._answer(200 if self.headers["Content-Type"] == "application/json" else 415, {})

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class FakeJaeger(HTTPServer):
    """Has some traces, and accepts any."""

    def __init__(self, *traces: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.traces = traces
        self.taken: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def jaeger() -> Iterator[FakeJaeger]:
    with FakeJaeger("a", "b") as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_each_trace_is_saved_once_and_sent_as_it_was_saved(jaeger: FakeJaeger, tmp_path: Path) -> None:
    file = tmp_path / "exemplars.jsonl"
    save(jaeger.url, CHOSEN, file)
    lines = file.read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [{"trace": "a"}, {"trace": "b"}]
    load(file, jaeger.url)
    assert jaeger.taken == lines


def test_a_trace_that_jaeger_does_not_have_is_named(jaeger: FakeJaeger, tmp_path: Path) -> None:
    with pytest.raises(JaegerError, match=r"did not return trace c: GET /api/v3/traces/c answered 404 Not Found"):
        save(jaeger.url, {"checkout": {"p50": "c"}}, tmp_path / "exemplars.jsonl")


def test_a_jaeger_that_is_gone_is_named(tmp_path: Path) -> None:
    with FakeJaeger() as gone:
        url = gone.url
    file = tmp_path / "exemplars.jsonl"
    file.write_text("{}\n")
    with pytest.raises(JaegerError, match=f"{url} did not accept the saved traces"):
        load(file, url)
