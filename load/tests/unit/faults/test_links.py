from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from experiment.faults.links import _Toxiproxy


class Answering(BaseHTTPRequestHandler):
    """Answers as Toxiproxy does when it has made a proxy."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(json.dumps({"listen": "127.0.0.1:9"}).encode())

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def test_a_proxy_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        made = _Toxiproxy(f"http://127.0.0.1:{server.server_port}").add("link-1", "127.0.0.1:5")
    assert made == "127.0.0.1:9"
