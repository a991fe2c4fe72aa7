"""The caller's side of HTTP: a pool of connections to a service, and requests with trace context and deadline."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import aiohttp
import msgspec
from opentelemetry.trace import Span, StatusCode
from opentelemetry.util.types import AttributeValue

from shop.clients.replicas import Rotation
from shop.contract.signatures import UNREADABLE
from shop.errors import Internal, ShopError, Unavailable, away, late
from shop.platform.config import split_address
from shop.platform.deadline import DEFAULT_S, remaining
from shop.platform.outgoing import OutgoingCall
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.retries import Retries
from shop.platform.telemetry.meters import Meters, Timing

CONNECTIONS = 256
KEEP_ALIVE_S = 60.0
"""Seconds that an idle connection stays open: less than the servers' 75, so that none closes as a request goes out."""
SILENT_S = 45.0
"""Seconds without a line after which a long-lived answer is given up: three times the longest healthy silence."""

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


class FieldError(msgspec.Struct):
    field: str
    message: str


class Problem(msgspec.Struct):
    """An error that a service has answered with (RFC 9457), as far as clients read it."""

    code: str
    detail: str
    field: str = ""
    errors: list[FieldError] = []


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after_s(self) -> int:
        """In how many seconds a retry may succeed; 0 if the answer does not say."""
        seconds = self.headers.get("retry-after", "")
        return int(seconds) if seconds.isdecimal() else 0

    def problem(self) -> Problem | None:
        """Returns the problem in an answer; None if a proxy has answered instead."""
        if self.headers.get("content-type", "").startswith("application/problem+json"):
            with contextlib.suppress(*UNREADABLE):
                return msgspec.json.decode(self.body, type=Problem)
        return None


class _NotSent(Unavailable):
    """There was no connection on which to send the request."""


class HttpRequest(NamedTuple):
    """A request, whose span has a low-cardinality name, and never personal or payment data in its attributes.

    For a long-lived answer, the header `accept` is the type that the answer must have.
    """

    method: str
    path: str
    name: str
    attributes: Mapping[str, AttributeValue] | None = None
    body: bytes | None = None
    headers: Mapping[str, str] = MappingProxyType({})


class _HttpCall(OutgoingCall):
    """A request in flight, whose span shows where the request goes."""

    __slots__ = ("_peer", "_request", "_status")

    def __init__(self, runtime: Runtime, peer: str, place: Mapping[str, AttributeValue], request: HttpRequest) -> None:
        super().__init__(runtime, request.name, request.attributes)
        self._peer = peer
        self._request = request
        self._status = 0
        if self.span is not None:
            path = request.path.partition("?")[0]
            self.span.set_attributes({**place, "http.request.method": request.method, "url.path": path})

    def note_answer(self, status: int) -> None:
        """Records the status of the answer, which has been read."""
        self.read()
        self._status = status

    def end_span(self, span: Span, error: BaseException | None) -> None:
        super().end_span(span, None if _is_left(error) else error)
        if self._status:
            span.set_attribute("http.response.status_code", self._status)
            if self._status >= 400:
                span.set_attribute("error.type", str(self._status))
                span.set_status(StatusCode.ERROR)

    def measure(self, meters: Meters, error: BaseException | None) -> tuple[Timing, tuple[str, ...]]:
        status = str(self._status or "")
        fault = status if self._status >= 400 else "" if _is_left(error) else type(error).__qualname__
        return meters.http_client, (self._request.method, self._peer, self._request.name, status, fault)


def _is_left(error: BaseException | None) -> bool:
    """Returns whether the call succeeded; a reader that stops reading a long-lived answer is not a failure."""
    return error is None or isinstance(error, GeneratorExit)


class HttpChannel:
    """One service as its callers see it over HTTP; call `close` at the end.

    Args:
        addresses: "host:port" of each replica; the replicas get the requests in turn. Or a single address whose host is
            a name, which is looked up.
        socket: Path of a Unix domain socket to connect to instead; the sidecar there routes the requests.
        lasts: Whether answers are long-lived, so that the number of connections has no limit.
    """

    def __init__(
        self, peer: str, addresses: Sequence[str], socket: str | None = None, runtime: Runtime = BARE, *, lasts: bool
    ) -> None:
        self.peer = peer
        self._runtime = runtime
        self._session = _session(socket, connections=0 if lasts else CONNECTIONS)
        self._retries = Retries()
        self._replicas = Rotation(self._session, addresses, follow=socket is None)
        self._attributes: dict[str, dict[str, AttributeValue]] = {}
        for address in addresses:
            host, port = split_address(address)
            self._attributes[address] = {"server.address": host, "server.port": port}
        # A sidecar identifies the callee by this header, regardless of the address of a request.
        self._host = {"Host": self._replicas.name} if self._replicas.name else {}

    async def send(self, request: HttpRequest, read: Callable[[HttpAnswer], T], *, again: bool = False) -> T:
        """Sends a request, and returns what `read` makes of the answer; `read` raises the error in an answer.

        If there is no answer, or the error is `Unavailable`, `again` allows another attempt: only for requests that
        change nothing. Raises `DeadlineExceeded` when the caller's time is up, and `Unavailable` if there is no answer.
        """

        async def once() -> T:
            return read(await self._once(request))

        return await self._retries.run(once, again=again)

    async def lines(self, request: HttpRequest) -> AsyncGenerator[bytes]:
        """Sends a POST, and yields the lines of its long-lived answer as they come; the span ends with the answer.

        Raises `Unavailable` if there is no such answer or it breaks off, or `DeadlineExceeded` if it does not begin in
        the caller's time, or has no line for `SILENT_S`.
        """
        address = self._replicas.next()
        with self._call(address, request) as call:
            sent, url = {**self._host, **call.headers(), **request.headers}, f"http://{address}{request.path}"
            try:
                async with await self._begin(call, url, sent, request) as response:
                    while line := await _next_line(response.content):
                        yield line
            except TimeoutError:
                self._replicas.leave_out(address)
                raise late(self.peer) from None
            except (aiohttp.ClientError, OSError) as error:
                self._replicas.leave_out(address)
                raise away(self.peer) from error

    async def _begin(
        self, call: _HttpCall, url: str, sent: Mapping[str, str], request: HttpRequest
    ) -> aiohttp.ClientResponse:
        """Returns a long-lived answer as soon as it begins; raises the error in any other answer."""
        accepted = request.headers["accept"]
        async with asyncio.timeout(remaining() or DEFAULT_S):
            response = await self._session.post(url, data=request.body, headers=sent)
            call.note_answer(response.status)
            if response.content_type == accepted:
                return response
            async with response:
                refusal = HttpAnswer(response.status, response.headers, await response.read())
        raise self.unreadable(refusal, request.path, accepted)

    def unreadable(self, received: HttpAnswer, call: str, what: str) -> ShopError:
        """Returns the error for an answer that the service itself did not write, derived from the answer's status."""
        if received.status == 504:
            return late(self.peer)
        if received.status in (429, 502, 503):
            return away(self.peer)
        _LOG.error("%s answered %s with HTTP %d and no %s", self.peer, call, received.status, what)
        return Internal("internal error")

    async def close(self) -> None:
        await self._replicas.close()
        await self._session.close()

    async def _once(self, request: HttpRequest) -> HttpAnswer:
        # A request that could not be sent to one replica goes to the next, even if it changes something.
        for _ in range(self._replicas.size - 1):
            with contextlib.suppress(_NotSent):
                return await self._to(self._replicas.next(), request)
        return await self._to(self._replicas.next(), request)

    async def _to(self, address: str, request: HttpRequest) -> HttpAnswer:
        limit = remaining() or DEFAULT_S
        url = f"http://{address}{request.path}"
        with self._call(address, request) as call:
            sent = {**call.headers(limit), **self._host, **request.headers}
            try:
                async with (
                    asyncio.timeout(limit),
                    self._session.request(request.method, url, data=request.body, headers=sent) as response,
                ):
                    answer = HttpAnswer(response.status, response.headers, await response.read())
            except TimeoutError:
                self._replicas.leave_out(address)
                raise late(self.peer) from None
            except (aiohttp.ClientError, OSError) as error:
                self._replicas.leave_out(address)
                kind = _NotSent if isinstance(error, aiohttp.ClientConnectorError) else Unavailable
                raise away(self.peer, kind) from error
            call.note_answer(answer.status)
            return answer

    def _call(self, address: str, request: HttpRequest) -> _HttpCall:
        return _HttpCall(self._runtime, self.peer, self._attributes[self._replicas.name or address], request)


async def _next_line(content: aiohttp.StreamReader) -> bytes:
    async with asyncio.timeout(SILENT_S):
        return await content.readline()


def _session(socket: str | None, *, connections: int) -> aiohttp.ClientSession:
    """Returns a pool of up to so many connections, 0 for no limit; each connection opens on its first request."""
    connector: aiohttp.BaseConnector
    if socket is None:
        connector = aiohttp.TCPConnector(limit=connections, keepalive_timeout=KEEP_ALIVE_S)
    else:
        connector = aiohttp.UnixConnector(socket, limit=connections, keepalive_timeout=KEEP_ALIVE_S)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        # Between services, compression costs more time than it saves.
        headers={"accept-encoding": "identity"},
        skip_auto_headers=("user-agent",),
        timeout=aiohttp.ClientTimeout(total=None),
    )
