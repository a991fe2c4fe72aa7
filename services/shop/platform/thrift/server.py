"""A server for framed Thrift on asyncio: each message follows its length, and a connection has one call at a time.

Apache's library has no server for asyncio; the library encodes and decodes, and this module does the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shop.errors import ShopError
from shop.platform.access.rules import Authenticator
from shop.platform.config import EDGE_MARK
from shop.platform.error_codes import SERVER_FAULTS
from shop.platform.http.body import MAX_BYTES, MAX_S
from shop.platform.http.server import BACKLOG, KEEP_ALIVE_S, bind
from shop.platform.incoming import Incoming, Request
from shop.platform.process.unix_socket import unlink
from shop.platform.telemetry.metering import MeasuredRequest
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.recorder import Attributes, SharedAttributes
from shop.platform.thrift.encoding import COMPACT, Undecodable
from shop.platform.thrift.processor import Processor, ReceivedCall

log = logging.getLogger(__name__)

GRACE_S = 3.0
MAX_CONNECTIONS = 10_000
"""Maximum number of connections, as at the edge; a further one closes the connection that has been idle for longest."""
LENGTH = 4
"""Number of bytes that give a frame's length."""


class FramedServer:
    """Answers the calls on each connection, one after another; `from_outside` means that all callers are clients."""

    def __init__(self, processor: Processor, incoming: Incoming, *, from_outside: bool) -> None:
        self._processor = processor
        self._incoming = incoming
        self._origin = "client" if from_outside else None
        self._idle: dict[asyncio.Task[None], StreamWriter] = {}  # sorted by when they became idle
        self._working: set[asyncio.Task[None]] = set()
        self._stopping = False

    def accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Begins to serve a connection. asyncio's own task for a connection would log a cancellation as an error."""
        if len(self._idle) + len(self._working) >= MAX_CONNECTIONS:
            longest = next(iter(self._idle), None)
            (writer if longest is None else self._idle.pop(longest)).transport.abort()
        self._idle[asyncio.create_task(self._serve(reader, writer))] = writer

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serves a connection until its client leaves, is idle for too long, or sends anything but a call."""
        task = asyncio.current_task()
        assert task is not None
        try:
            while not self._stopping:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    size = int.from_bytes(await reader.readexactly(LENGTH))
                if size > MAX_BYTES:
                    log.warning("a frame has %d bytes; at most %d are valid", size, MAX_BYTES)
                    return
                async with asyncio.timeout(MAX_S):
                    message = await reader.readexactly(size)
                self._idle.pop(task, None)
                self._working.add(task)
                # A separate task, so that everything a call sets in its context ends with it.
                answer = await asyncio.create_task(self._answer(message))
                if writer.is_closing():  # the client has left; uvloop's transports then refuse to write
                    return
                writer.write(len(answer).to_bytes(LENGTH) + answer)
                async with asyncio.timeout(MAX_S):
                    await writer.drain()
                self._working.discard(task)
                self._idle[task] = writer
        except TimeoutError:
            # A close would wait for a client that does not read.
            writer.transport.abort()
        except (asyncio.IncompleteReadError, ConnectionError, Undecodable):
            pass
        finally:
            self._idle.pop(task, None)
            self._working.discard(task)
            writer.close()

    async def stop(self) -> None:
        """Closes idle connections at once, and gives calls in flight `GRACE_S` to finish."""
        self._stopping = True
        for writer in self._idle.values():
            writer.close()
        if self._working:
            await asyncio.wait(set(self._working), timeout=GRACE_S)
        for task in (*self._idle, *self._working):
            task.cancel()

    async def _answer(self, message: bytes) -> bytes:
        call = self._processor.call(COMPACT, message)
        if isinstance(call, bytes):
            return call
        return await self._incoming.answer(_FramedCall(call, self._incoming.authenticator, self._origin))


class _FramedCall(Request[bytes]):
    __slots__ = ("_authenticator", "_call", "_origin")

    def __init__(self, call: ReceivedCall, authenticator: Authenticator, origin: str | None) -> None:
        self._call = call
        self._authenticator = authenticator
        self._origin = origin

    def header(self, name: str) -> str | None:
        return self._origin if name == EDGE_MARK else self._call.headers.get(name)

    def describe_span(self) -> tuple[str, Attributes, SharedAttributes]:
        traced = self._call.method.traced
        return traced.name, None, traced.attributes

    async def work(self) -> bytes:
        return await self._call.work(self._authenticator, self._call.headers.get("authorization"), self._origin)

    async def refuse(self, error: ShopError) -> bytes:
        return self._call.refusal(error)

    def measure(self, meters: Meters, asked: MeasuredRequest, error: BaseException | None) -> None:
        code = error.code if isinstance(error, ShopError) else "OK" if error is None else "CANCELLED"
        fault = code if code in SERVER_FAULTS else ""
        meters.rpc_server.note(("thrift", self._call.method.traced.name, code, fault), asked.seconds, asked.trace_id)


@asynccontextmanager
async def framed_server(
    listen: str, processor: Processor, incoming: Incoming, *, from_outside: bool = False
) -> AsyncIterator[str]:
    """Serves framed Thrift until the context ends, like `http_server`; calls in flight then get `GRACE_S` to finish."""
    framed = FramedServer(processor, incoming, from_outside=from_outside)
    listener, address = bind(listen)
    server = await asyncio.start_server(framed.accept, sock=listener, backlog=BACKLOG)
    try:
        yield address
    finally:
        unlink(listen)
        server.close()
        await framed.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await server.wait_closed()
