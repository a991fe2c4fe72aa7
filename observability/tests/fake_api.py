"""A small HTTP server that imitates a query API."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class FakeApi(ThreadingHTTPServer):
    """Serves `routes`: by path, status and body, perhaps a location; or a function that makes these from the request.

    Attributes:
        asked: Path, query and headers of each request.
        ended: Set when the server stops, for answers that stall.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.routes, self.asked, self.ended = {}, [], threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urlsplit(self.path)
        self.server.asked.append((asked.path, parse_qs(asked.query), dict(self.headers)))
        route = self.server.routes.get(asked.path, (404, b"no such page"))
        status, body, *location = route(self) if callable(route) else route
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for address in location:
            self.send_header("Location", address)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextmanager
def serving() -> Iterator[FakeApi]:
    """Runs a server with no routes yet."""
    with FakeApi() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()
