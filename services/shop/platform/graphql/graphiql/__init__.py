"""GraphiQL in front of a GraphQL endpoint. Nothing on the page comes from another host, so it works offline.

GraphiQL's own files come from the npm registry: `make setup` fetches them into the folder that SHOP_GRAPHIQL names.
"""

from __future__ import annotations

from pathlib import Path

from starlette.responses import FileResponse, Response

from shop.platform.graphql.endpoint import ROUTE
from shop.platform.graphql.tracing import App, Receive, Scope, Send

FETCHED = ("graphiql.css", "graphiql.js", "react.js", "react-dom.js")
"""The files that `make setup` fetches."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src data:; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page's Content-Security-Policy. GraphiQL adds styles to the page, and its fonts are data: URLs."""

_OWN = Path(__file__).parent
_BELOW = f"{ROUTE}/graphiql/"


class GraphiQL:
    """An application whose `/graphql` shows GraphiQL to browsers.

    Args:
        app: Answers everything else.
        folder: Holds the files of `FETCHED`; while one is missing, or None is given, the page says how to get them.
    """

    def __init__(self, app: App, folder: str | None) -> None:
        self._app = app
        self._fetched = {name: Path(folder, name) for name in FETCHED} if folder else {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the start and end of the server."""
        answer = self._answer(scope) if scope.get("method") == "GET" else None
        await (answer or self._app)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        path: str = scope["path"]
        if path == ROUTE and not scope["query_string"] and b"text/html" in dict(scope["headers"]).get(b"accept", b""):
            complete = self._fetched and all(file.is_file() for file in self._fetched.values())
            name, status = ("page.html", 200) if complete else ("missing.html", 503)
            return FileResponse(_OWN / name, status, {"content-security-policy": POLICY})
        if path == f"{_BELOW}start.js":
            return FileResponse(_OWN / "start.js")
        file = self._fetched.get(path.removeprefix(_BELOW))
        return FileResponse(file) if file is not None and file.is_file() else None
