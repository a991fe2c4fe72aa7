"""The methods of a service over Thrift, whatever carries the messages: decodes a call, admits it, works, encodes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

from opentelemetry.trace import Span, StatusCode

from shop.errors import Internal, ShopError
from shop.instrument.tracing import SharedAttributes, shared
from shop.platform.access.rules import Access, Authenticator
from shop.platform.errors import SERVER_FAULTS, row
from shop.platform.telemetry.metering import tell
from shop.platform.thrift.encoding import EXCEPTION, MOST_ROWS, REPLY, encoded, opened, read_whole, unknown_method
from shop.platform.validation import size
from shop.stubs.thrift.ttypes import ShopError as Failure

log = logging.getLogger(__name__)

T = TypeVar("T")

DEFAULT_ROWS = 1_000
"""Rows of an answer if the caller does not say how many."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a service.

    Attributes:
        access: Whom it admits.
        work: Answers a request with a value.
        answer: Makes the struct of that value; None for a method that returns nothing.
    """

    access: Access
    work: Callable[[Any], Awaitable[Any]]
    answer: Callable[[Any], Any] | None = None


Methods: TypeAlias = Mapping[str, Method]
"""The methods of a service, by their names in the contract."""


def attributes_of(service: str, method: str) -> dict[str, str | int]:
    """Returns the attributes that tell a method in the spans of both ends."""
    return {"rpc.system.name": "thrift", "rpc.service": service, "rpc.method": method}


@dataclass(frozen=True, slots=True)
class TracedMethod:
    """What the spans of a method's calls have in common."""

    name: str
    attributes: SharedAttributes

    @classmethod
    def of(cls, service: str, method: str, more: Mapping[str, str | int] | None = None) -> TracedMethod:
        """Returns it for a method.

        Args:
            service: Name of the service in the contract: "ProductService".
            method: Name of the method: "GetProduct".
            more: Further attributes.
        """
        return cls(f"{service}/{method}", shared(attributes_of(service, method) | dict(more or {})))


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has arrived.

    Attributes:
        traced: Its method, for spans.
        headers: What the caller sent beside its request; empty over HTTP.
    """

    traced: TracedMethod
    headers: Mapping[str, str]
    _method: Method
    _request: Any
    _result: Any
    _reply: Callable[[Any], bytes] = field(repr=False)

    async def work(self, authenticator: Authenticator, authorization: str | None, origin: str | None) -> bytes:
        """Admits the caller and does what the method does; returns the answer.

        Raises:
            ShopError: What it raised.
        """
        authenticator.admit(self._method.access, authorization, origin)
        value = await self._method.work(self._request)
        answer = self._method.answer
        return self._reply(self._result() if answer is None else self._result(success=answer(value)))

    def failed(self, error: Exception, span: Span | None) -> bytes:
        """Returns the answer that an error makes, which the span notes; an unknown cause goes to the log only."""
        if isinstance(error, ShopError):
            failure = error
            if error.__cause__ is not None and failure.code in SERVER_FAULTS:
                log.warning("%s: %s", failure.code.value, failure.message, exc_info=error)
        else:
            log.error("unexpected error", exc_info=error)
            failure = Internal("internal error")
        if span is not None:
            span.set_attribute("error.type", failure.code.value)
            if failure.code in SERVER_FAULTS:
                span.set_status(StatusCode.ERROR, failure.message)
        if failure.code in SERVER_FAULTS:
            tell(error=failure.code.value)
        told = Failure(row(failure).thrift, failure.message, failure.field or None, failure.retry_after_s or None)
        return self._reply(self._result(error=told))


class Processor:
    """Makes calls of the messages for one service.

    Args:
        stubs: The service's generated module: `shop.stubs.thrift.ProductService`.
        methods: Its methods.
    """

    def __init__(self, stubs: ModuleType, methods: Methods) -> None:
        service = stubs.__name__.rpartition(".")[2]
        self._methods = {
            name: (
                method,
                TracedMethod.of(service, name),
                getattr(stubs, f"{name}_args"),
                getattr(stubs, f"{name}_result"),
            )
            for name, method in methods.items()
        }

    def call(self, encoding: Any, message: bytes) -> Call | bytes:
        """Returns the call in a message; or the answer to one that asks for no method of the service.

        Raises:
            Undecodable: There is no call in it.
        """
        name, _, sequence, protocol = opened(encoding, message)
        known = self._methods.get(name)
        if known is None:
            return encoded(encoding, name, EXCEPTION, sequence, unknown_method(name))
        method, traced, arguments, result = known
        asked = arguments()

        def reply(struct: Any) -> bytes:
            return encoded(encoding, name, REPLY, sequence, struct)

        try:
            read_whole(asked, protocol)
        except ShopError as error:
            return Call(traced, {}, method, None, result, reply).failed(error, None)
        return Call(traced, asked.headers, method, asked.request, result, reply)


def rows(limit: int) -> int:
    """Returns how many rows to answer with, where gRPC would stream.

    Args:
        limit: As the caller gave it; 0 for the default.

    Raises:
        InvalidArgument: They are too many for one answer.
    """
    return size(limit, "limit", default=DEFAULT_ROWS, most=MOST_ROWS)


async def collected(chunks: AsyncIterator[Sequence[T]]) -> list[T]:
    """Returns all rows of a stream."""
    return [row async for chunk in chunks for row in chunk]
