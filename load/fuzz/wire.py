"""Sends raw bytes over TCP, TLS, HTTP/2, QUIC and UDP, and reads the answers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httptools
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived as H3Data
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset, TrailersReceived
from h2.exceptions import ProtocolError

Header = tuple[bytes, bytes]

HOST = "127.0.0.1"
WAYS = ("tcp", "tcp-h1", "tcp-h2", "tls-h1", "tls-h2", "quic", "udp")
"""Each input is sent on a separate connection, and the answer is read as HTTP/1.1, HTTP/2 or HTTP/3; with "tcp" and
"udp" it is not interpreted. With "quic" the bytes are the contents of a stream."""
CONNECT_S = 5.0
MAX_BODY = 60_000
"""Bytes of a body that HTTP/2 may send before it needs a window update."""
_FRAME = 16_384


@dataclass(slots=True)
class Answer:
    """An answer.

    Attributes:
        statuses: HTTP statuses of all answers on the connection, without interim answers (1xx).
        headers: Headers and trailers, with names in lower case.
        waiting: Whether the answer was still incomplete when the wait ended.
    """

    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    waiting: bool = False

    @property
    def grpc_status(self) -> int | None:
        """The gRPC status, which gRPC-Web sends in the body's last frame; None without a status."""
        text = self.headers.get("grpc-status", "")
        if not text and self.headers.get("content-type", "").startswith("application/grpc-web+"):
            text = self.body.rpartition(b"grpc-status:")[2].partition(b"\r")[0].decode("latin-1")
        return int(text) if text.isdigit() else None

    def note(self, headers: Sequence[Header]) -> None:
        """Adds headers that came over HTTP/2 or HTTP/3 to the answer."""
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        status = int(named.pop(":status", "0"))
        if status >= 200:
            self.statuses.append(status)
        self.headers |= named


class Sender:
    """Sends bytes to a port on this machine; with TLS if there is the file of a trusted certificate."""

    def __init__(self, port: int, trusted: Path | None = None) -> None:
        self._port = port
        self._trusted = trusted
        self._contexts = {name: self._context(alpn) for name, alpn in (("tls-h1", "http/1.1"), ("tls-h2", "h2"))}

    def _context(self, alpn: str) -> ssl.SSLContext | None:
        if self._trusted is None:
            return None
        context = ssl.create_default_context(cafile=str(self._trusted))
        context.set_alpn_protocols([alpn])
        return context

    async def send(self, way: str, data: bytes, patience_s: float) -> Answer:
        """Sends bytes on a new connection; returns the answer once it is complete or cut off, or after `patience_s`."""
        answer = Answer()
        try:
            async with asyncio.timeout(patience_s + CONNECT_S):
                if way == "quic":
                    await self._over_quic(data, answer, patience_s)
                elif way == "udp":
                    await self._over_udp(data, answer, patience_s)
                else:
                    await self._over_tcp(way, data, answer, patience_s)
        except TimeoutError:
            answer.waiting = True
        except (OSError, EOFError):  # the other end has closed the connection, which is an answer too
            pass
        return answer

    async def _over_tcp(self, way: str, data: bytes, answer: Answer, patience_s: float) -> None:
        secure = self._contexts.get(way)
        reader, writer = await asyncio.open_connection(
            HOST, self._port, ssl=secure, server_hostname="localhost" if secure else None
        )
        try:
            read = _reading(way, answer, writer)
            writer.write(data)
            async with asyncio.timeout(patience_s):
                while (received := await reader.read(65_536)) and not read(received):
                    pass
        finally:
            writer.transport.abort()

    async def _over_quic(self, data: bytes, answer: Answer, patience_s: float) -> None:
        settings = QuicConfiguration(alpn_protocols=H3_ALPN, cafile=str(self._trusted), server_name="localhost")

        def visit(*args: Any, **given: Any) -> _Visit:
            return _Visit(answer, left, *args, **given)

        # After a close, aioquic keeps its socket open for nine round trips; here, the socket may close earlier.
        with contextlib.ExitStack() as left:
            async with connect(HOST, self._port, configuration=settings, create_protocol=visit) as connection:
                assert isinstance(connection, _Visit)
                connection.begin(data)
                async with asyncio.timeout(patience_s):
                    await connection.over

    async def _over_udp(self, data: bytes, answer: Answer, patience_s: float) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.setblocking(False)
            one.connect((HOST, self._port))
            await loop.sock_sendall(one, data)
            async with asyncio.timeout(patience_s):
                answer.body = await loop.sock_recv(one, 65_536)


def _reading(way: str, answer: Answer, writer: asyncio.StreamWriter) -> Callable[[bytes], bool]:
    """Returns a function that takes bytes, and says whether the answer is complete."""
    if way.endswith("h1"):
        return _H1(answer).take
    if way.endswith("h2"):
        return _H2(answer, writer).take

    def take(received: bytes) -> bool:
        answer.body += received
        return True

    return take


class _H1:
    """Reads HTTP/1.1 answers; a stream of events counts as complete after its first event."""

    def __init__(self, answer: Answer) -> None:
        self._answer, self._over = answer, False
        self._parser = httptools.HttpResponseParser(self)

    def take(self, received: bytes) -> bool:
        try:
            self._parser.feed_data(received)
        except httptools.HttpParserError:
            self._answer.body += received
        return self._over

    def on_header(self, name: bytes, value: bytes) -> None:
        self._answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if (status := self._parser.get_status_code()) >= 200:
            self._answer.statuses.append(status)
        self._over = self._answer.headers.get("content-type", "").startswith("text/event-stream")

    def on_body(self, body: bytes) -> None:
        self._answer.body += body

    def on_message_complete(self) -> None:
        self._over = bool(self._answer.statuses) and not self._parser.should_keep_alive()


class _H2:
    """Reads the answer on HTTP/2's first stream."""

    def __init__(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        self._answer, self._writer = answer, writer
        self._link = _link()
        # Gives the library the state that it would have after sending the request itself.
        self._link.send_headers(1, [(b":method", b"POST")])
        self._link.clear_outbound_data_buffer()

    def take(self, received: bytes) -> bool:
        over = False
        try:
            for event in self._link.receive_data(received):
                if isinstance(event, ResponseReceived | TrailersReceived):
                    self._answer.note(event.headers)
                elif isinstance(event, DataReceived):
                    self._answer.body += event.data
                    self._link.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                over = over or isinstance(event, StreamEnded | StreamReset)
        except ProtocolError:
            return True
        self._writer.write(self._link.data_to_send())
        return over


class _Visit(QuicConnectionProtocol):
    """A connection with one stream of arbitrary bytes; its socket closes when `left` is closed."""

    def __init__(self, answer: Answer, left: contextlib.ExitStack, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._answer, self._left = answer, left
        self._http = H3Connection(self._quic)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._left.callback(transport.close)

    def begin(self, data: bytes) -> None:
        self._quic.send_stream_data(self._quic.get_next_available_stream_id(), data, end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        ended = isinstance(event, ConnectionTerminated)
        for received in self._http.handle_event(event):
            if isinstance(received, HeadersReceived):
                self._answer.note(received.headers)
            elif isinstance(received, H3Data):
                self._answer.body += received.data
            ended = ended or getattr(received, "stream_ended", False)
        if ended and not self.over.done():
            self.over.set_result(None)


def h1_request(method: str, target: str, headers: Sequence[tuple[str, str]] = (), body: bytes = b"") -> bytes:
    """Encodes an HTTP/1.1 request that closes the connection after its answer; nothing is checked."""
    complete = [("host", "shop"), ("connection", "close"), *headers, ("content-length", str(len(body)))]
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in complete)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass") + body


def h2_request(headers: Sequence[Header], body: bytes) -> bytes:
    """Encodes a request as the first bytes of an HTTP/2 connection, with unchecked headers and a truncated body."""
    link, body = _link(), body[:MAX_BODY]
    link.send_headers(1, list(headers), end_stream=not body)
    for at in range(0, len(body), _FRAME):
        link.send_data(1, body[at : at + _FRAME], end_stream=at + _FRAME >= len(body))
    return link.data_to_send()


def h3_request(headers: Sequence[Header], body: bytes) -> bytes:
    """Encodes a request as the contents of an HTTP/3 stream, with literal headers only (RFC 9204)."""
    section = b"\0\0" + b"".join(
        _encode_prefixed(0x20, 3, len(name)) + name + _encode_prefixed(0, 7, len(value)) + value
        for name, value in headers
    )
    frames = ((1, section), (0, body)) if body else ((1, section),)
    return b"".join(bytes([kind]) + (0x4000 | len(content)).to_bytes(2) + content for kind, content in frames)


def _encode_prefixed(flags: int, bits: int, number: int) -> bytes:
    """Encodes an integer for HPACK and QPACK, after flags; it must be less than 128 above the prefix's maximum."""
    most = (1 << bits) - 1
    return bytes([flags | number]) if number < most else bytes([flags | most, number - most])


def _link() -> H2Connection:
    link = H2Connection(
        H2Configuration(
            header_encoding=None,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
            validate_inbound_headers=False,
        )
    )
    link.initiate_connection()
    return link


def quic_datagram(port: int) -> bytes:
    """Returns a client's first datagram of a QUIC connection."""
    from aioquic.quic.connection import QuicConnection

    connection = QuicConnection(configuration=QuicConfiguration(alpn_protocols=H3_ALPN, server_name="localhost"))
    connection.connect((HOST, port), now=0.0)
    return connection.datagrams_to_send(now=0.0)[0][0]


def client_hello() -> bytes:
    """Returns a client's first bytes of a TLS connection."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()
