"""GraphiQL in front of a GraphQL endpoint. Nothing on the page comes from another host, so it works offline.

GraphiQL's own files come from the npm registry: `make setup` fetches them into the folder that SHOP_GRAPHIQL names.
"""

from __future__ import annotations

import json
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from shop.platform.graphql.endpoint import ROUTE, respond
from shop.platform.http.caching import GRAPHIQL, NO_STORE

FETCHED = ("graphiql.css", "graphiql.js", "react.js", "react-dom.js")
"""The files that `make setup` fetches."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src data:; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page's Content-Security-Policy. GraphiQL adds styles to the page, and its fonts are data: URLs."""

_OWN = Path(__file__).parent
_BELOW = f"{ROUTE}/graphiql/"
_TYPES = {".css": b"text/css", ".html": b"text/html; charset=utf-8", ".js": b"text/javascript"}
_HEADERS = ((b"content-security-policy", POLICY.encode()),)


class GraphiQL:
    """An application whose `/graphql` shows GraphiQL to browsers, or says how to get its files if one is missing."""

    def __init__(self, app: ASGIApp, folder: str, query: str = "{ __typename }") -> None:
        self._app = app
        self._start = f"const query = {json.dumps(query)};\n".encode() + (_OWN / "start.js").read_bytes()
        self._fetched = {name: Path(folder, name) for name in FETCHED}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = self._file(scope) if scope.get("method") == "GET" else None
        if file is None:
            await self._app(scope, receive, send)
        else:
            status, caching = (404, (NO_STORE,)) if file.name == "missing.html" else (200, GRAPHIQL)
            body = self._start if file.name == "start.js" else file.read_bytes()
            await respond(send, status, body, _TYPES[file.suffix], _HEADERS, caching)

    def _file(self, scope: Scope) -> Path | None:
        path: str = scope["path"]
        if path == ROUTE and not scope["query_string"] and b"text/html" in dict(scope["headers"]).get(b"accept", b""):
            complete = all(file.is_file() for file in self._fetched.values())
            return _OWN / ("page.html" if complete else "missing.html")
        if path == f"{_BELOW}start.js":
            return _OWN / "start.js"
        file = self._fetched.get(path.removeprefix(_BELOW))
        return file if file is not None and file.is_file() else None
