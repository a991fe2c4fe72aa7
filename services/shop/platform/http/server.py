"""An HTTP server for an ASGI application, with a graceful stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

from shop.platform.config import StartError, port_in_use, socket_path, split_address
from shop.platform.http.body import MAX_BYTES
from shop.platform.http.health import with_health
from shop.platform.process.unix_socket import bind_unix, unlink

KEEP_ALIVE_S = 75
GRACE_S = 3
POLL_S = 0.05
CLOSE = (b"connection", b"close")
BACKLOG = 2048
METERED_SOCKET = "shop.platform.http.websockets:MeteredSocket"
"""Name of the class that handles WebSockets: only servers that answer WebSockets load the library."""
PING_S = 20
"""How often a WebSocket's client is pinged, and how long it has to answer, in seconds."""
UNREAD_S = 30
"""How long a client may leave waiting data unread before it loses its connection, in seconds."""


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves it to the process to handle signals and to exit."""

    async def drain(self, limit_s: float) -> None:
        """Makes each answer the last answer over its connection, and waits until no connection is left.

        Closing a connection between two requests may hit a request that is on its way, and its sender cannot know
        whether it was served.
        """
        self.config.encoded_headers.append(CLOSE)  # from the next second on
        self.server_state.default_headers = [*self.server_state.default_headers, CLOSE]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self.server_state.connections:  # noqa: ASYNC110 - nothing signals when a connection ends
                    await asyncio.sleep(POLL_S)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def http_server(app: ASGIApp, listen: str, drain_s: float = 0, *, sockets: bool = False) -> AsyncIterator[str]:
    """Serves an ASGI application, and `/healthz`, until the context ends; requests in flight then get `GRACE_S`.

    Yields the address that it listens on, in the form of `listen`. Raises `StartError` if the port or the socket is in
    use.

    Args:
        listen: "host:port", where port 0 selects a free port, or "unix:" and the path of a socket.
        drain_s: How long clients have to leave before the end, in seconds; each answer then asks its client to leave.
        sockets: Whether the application answers WebSockets.
    """
    listener, address = bind(listen)
    server = _Server(
        uvicorn.Config(
            with_health(app),
            interface="asgi3",
            loop="none",
            http="httptools",
            ws=METERED_SOCKET if sockets else "none",
            ws_max_size=MAX_BYTES,
            # Pings discover a client that has vanished.
            ws_ping_interval=PING_S,
            ws_ping_timeout=PING_S,
            ws_per_message_deflate=False,
            # Otherwise the read after a large body may run in the context of the body's request, whose deadline passes.
            reset_contextvars=True,
            # The applications need nothing before the first request, and keep nothing after the last.
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            # Nothing here needs the client's address.
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
    )
    with contextlib.closing(listener):
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            while not (server.started or serving.done()):  # noqa: ASYNC110 - nothing signals it, and it takes few turns
                await asyncio.sleep(0)
            if serving.done():
                await serving  # raises what ended it, if anything did
                raise StartError(f"the server on {listen} ended before it was ready; its log says why")
            yield address
        finally:
            if drain_s and not serving.done():
                await server.drain(drain_s)
            unlink(listen)
            server.should_exit = True
            # A failure to start has already been raised.
            if not serving.done():
                await serving


def bind(listen: str) -> tuple[socket.socket, str]:
    """Returns a socket that is bound to an address, and the address, with its port; raises `StartError` if in use."""
    path = socket_path(listen)
    if path is not None:
        return bind_unix(path), listen
    host, port = split_address(listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio's own loop turns off Nagle's algorithm only if a socket names its protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Nothing else ends a connection whose buffers are full: a close would wait behind the unread data.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_S * 1000)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise port_in_use(listen, error.strerror) from error
    return listener, f"{host}:{listener.getsockname()[1]}"
