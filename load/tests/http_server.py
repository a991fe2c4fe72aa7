"""A server for tests, whose answers a function gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from stand_ins import QuietHandler


@contextmanager
def http_server(answer: Callable[[str, str, bytes], tuple[int, Any]]) -> Iterator[str]:
    """Yields the URL of a server; `answer` gets a method, a path and a body, and returns a status and a document."""

    class Handler(QuietHandler):
        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status, document = answer(self.command, self.path, body)
            self.answer(json.dumps(document).encode(), status)

        do_GET = do_POST = respond  # noqa: N815 - the base class's names

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
