"""Clients for services over Thrift, framed or as TJSON over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from abc import ABC, abstractmethod
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Generic

from shop.clients.http_channel import KEEP_ALIVE_S, HttpAnswer, HttpChannel, HttpRequest
from shop.clients.pages import pages
from shop.contract.calls import Call, P, Q, R, Service
from shop.contract.signatures import PortMethod
from shop.contract.wire import Codec, thrift_codec, thrift_stubs
from shop.errors import Internal, ShopError, away, late
from shop.platform.config import split_address
from shop.platform.deadline import DEFAULT_S, remaining
from shop.platform.error_codes import error_for_code
from shop.platform.outgoing import OutgoingCall
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.retries import Retries
from shop.platform.telemetry.meters import Meters, Timing
from shop.platform.telemetry.tracing import TracedMethod
from shop.platform.thrift.encoding import (
    CALL,
    COMPACT,
    EXCEPTION,
    JSON,
    MAX_ANSWER,
    MAX_ROWS,
    complete,
    encode_message,
    open_message,
)
from shop.platform.thrift.over_http import MEDIA_TYPE, path_of
from shop.platform.thrift.processor import attributes_of
from shop.platform.thrift.server import LENGTH

_LOG = logging.getLogger(__name__)


def tjson_client(service: Service[P], channel: HttpChannel) -> P:
    return _client(HttpPeer(service, channel))


def framed_client(stack: AsyncExitStack, service: Service[P], address: str, socket: str | None, runtime: Runtime) -> P:
    """Returns a client for a service over framed Thrift; `address` and `socket` are as for `grpc_channel`."""
    peer = FramedPeer(service, address.split(","), socket, runtime)
    stack.push_async_callback(peer.close)
    return _client(peer)


def _client(peer: ThriftPeer[P]) -> P:
    service = peer.service

    def make(call: Call[..., object]) -> Callable[..., object] | None:
        codec = thrift_codec(call)
        if codec is None:
            return None
        if call.streams:
            return _rows(peer, PortMethod(getattr(service.port, call.port), call), codec)
        return _unary(peer, call, codec)

    return service.implement(make)


def _unary(peer: ThriftPeer[P], row: Call[..., object], codec: Codec[Q, R]) -> Callable[Q, Awaitable[R]]:
    async def answer(*args: Q.args, **kwargs: Q.kwargs) -> R:
        return codec.value(await peer.call(row, complete(codec.request(*args, **kwargs))))

    return answer


def _rows(peer: ThriftPeer[P], method: PortMethod[Q, object], codec: Codec[..., R]) -> Callable[Q, AsyncIterator[R]]:
    after, _ = method.position

    async def page(behind: int, size: int) -> Sequence[R]:
        request = complete(codec.request(**{after: behind, "limit": size}))
        return list(codec.rows(await peer.call(method.contract, request)))

    def rows(*args: Q.args, **kwargs: Q.kwargs) -> AsyncIterator[R]:
        return pages(method, method.bind(*args, **kwargs), page, MAX_ROWS)

    return rows


class ThriftCall(OutgoingCall):
    __slots__ = ("_method",)

    def __init__(self, runtime: Runtime, method: TracedMethod) -> None:
        super().__init__(runtime, method.name, None, method.attributes)
        self._method = method.name

    def measure(self, meters: Meters, error: BaseException | None) -> tuple[Timing, tuple[str, ...]]:
        code = "CANCELLED" if error is not None else ""
        if isinstance(error, ShopError):
            code = error.code.value
        return meters.rpc_client, ("thrift", self._method, code or "OK", code)


class ThriftPeer(ABC, Generic[P]):
    """A service as its callers see it over Thrift."""

    def __init__(self, service: Service[P]) -> None:
        self.service = service
        self._name = service.full_name.rpartition(".")[2]
        self._stubs = thrift_stubs(service)
        self._sequence = itertools.count(1)

    @abstractmethod
    async def call(self, row: Call[..., object], request: object) -> object:
        """Calls a method; retries a failed read. Raises the service's error, or `Unavailable` for no answer."""

    def message(self, encoding: object, method: str, headers: Mapping[str, str], request: object) -> bytes:
        arguments = getattr(self._stubs, f"{method}_args")(headers, request)
        return encode_message(encoding, method, CALL, next(self._sequence), arguments)

    def answer(self, encoding: object, method: str, message: bytes) -> object:
        """Returns a method's result; raises the service's error."""
        result = getattr(self._stubs, f"{method}_result")()
        try:
            name, kind, _, protocol = open_message(encoding, message)
            if kind == EXCEPTION or name != method:
                raise ValueError("it is no result of this method")
            result.read(protocol)
        except Exception as error:
            _LOG.error("%s answered %s with an unreadable message: %s", self.service.name, method, error)
            raise Internal("internal error") from error
        if (failure := result.error) is not None:
            raise error_for_code(failure.code, failure.message, failure.field or "", failure.retry_after_s or 0)
        return getattr(result, "success", None)


class HttpPeer(ThriftPeer[P]):
    """A service as its callers see it over TJSON and HTTP."""

    def __init__(self, service: Service[P], channel: HttpChannel) -> None:
        super().__init__(service)
        self._channel = channel
        self._path = path_of(service.name)

    async def call(self, row: Call[..., object], request: object) -> object:
        method = row.name
        call = HttpRequest(
            "POST",
            self._path,
            f"{self._name}/{method}",
            attributes_of(self._name, method),
            self.message(JSON, method, {}, request),
            {"content-type": MEDIA_TYPE},
        )

        def read(received: HttpAnswer) -> object:
            if received.status == 200:
                return self.answer(JSON, method, received.body)
            problem = received.problem()
            if problem is None:
                raise self._channel.unreadable(received, method, "problem")
            raise error_for_code(problem.code, problem.detail, problem.field, received.retry_after_s)

        return await self._channel.send(call, read, again=row.reads)


class _Connection:
    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._used = time.monotonic()

    @property
    def usable(self) -> bool:
        """Whether the service still accepts calls on this connection."""
        is_open = not self._reader.at_eof() and not self._writer.is_closing()
        return is_open and time.monotonic() - self._used < KEEP_ALIVE_S

    async def exchange(self, message: bytes) -> bytes:
        self._writer.write(len(message).to_bytes(LENGTH) + message)
        size = int.from_bytes(await self._reader.readexactly(LENGTH))
        if size > MAX_ANSWER:
            raise ConnectionError(f"the answer has {size} bytes")
        answer = await self._reader.readexactly(size)
        self._used = time.monotonic()
        return answer

    def close(self) -> None:
        self._writer.close()


class FramedPeer(ThriftPeer[P]):
    """A service as its callers see it over framed Thrift; each connection carries one call at a time.

    Replicas get the calls in turn unless they refuse connections; a Unix domain socket replaces their addresses.
    """

    def __init__(
        self, service: Service[P], addresses: Sequence[str], socket: str | None = None, runtime: Runtime = BARE
    ) -> None:
        super().__init__(service)
        self._runtime = runtime
        self._addresses = addresses
        self._turns = itertools.cycle(addresses)
        self._retries = Retries()
        self._socket = socket
        self._idle: dict[str, list[_Connection]] = {address: [] for address in addresses}
        host, port = split_address(addresses[0])
        place: dict[str, str | int] = {"server.address": host, "server.port": port}
        self._methods = {
            call.name: TracedMethod.of({**attributes_of(self._name, call.name), **place}) for call in service.calls
        }

    async def call(self, row: Call[..., object], request: object) -> object:
        return await self._retries.run(lambda: self._once(row.name, request), again=row.reads)

    async def close(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.close()

    async def _once(self, method: str, request: object) -> object:
        limit = remaining() or DEFAULT_S
        with ThriftCall(self._runtime, self._methods[method]) as call:
            message = self.message(COMPACT, method, call.headers(limit), request)
            try:
                async with asyncio.timeout(limit):
                    answer = await self._exchange(message)
            except TimeoutError:
                raise late(self.service.name) from None
            except (OSError, EOFError) as error:
                raise away(self.service.name) from error
            call.read()
            return self.answer(COMPACT, method, answer)

    async def _exchange(self, message: bytes) -> bytes:
        address, connection = await self._connect()
        try:
            answer = await connection.exchange(message)
        except BaseException:
            # An answer that comes later would be read as the answer to another call.
            connection.close()
            raise
        self._idle[address].append(connection)
        return answer

    async def _connect(self) -> tuple[str, _Connection]:
        for _ in self._addresses[1:]:
            with contextlib.suppress(OSError):
                return await self._connect_to(next(self._turns))
        return await self._connect_to(next(self._turns))

    async def _connect_to(self, address: str) -> tuple[str, _Connection]:
        idle = self._idle[address]
        while idle:
            connection = idle.pop()
            if connection.usable:
                return address, connection
            connection.close()
        if self._socket is not None:
            return address, _Connection(*await asyncio.open_unix_connection(self._socket))
        return address, _Connection(*await asyncio.open_connection(*split_address(address)))
