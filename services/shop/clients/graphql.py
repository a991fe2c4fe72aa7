"""A client over GraphQL: each call has a fixed document, whose hash is sent, and answers are decoded by type."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from types import GenericAlias
from typing import Generic, TypeVar, cast, get_args, get_origin

import msgspec
import orjson

from shop.clients.graphql_documents import CallDocument
from shop.clients.http_channel import HttpAnswer, HttpChannel, HttpRequest
from shop.clients.pages import pages
from shop.contract.calls import Call, P, Q, R, Service
from shop.contract.graphql import ROWS_PER_PAGE, camel
from shop.contract.signatures import EXPECTED, UNREADABLE, Kind, PortMethod, bare, is_struct, methods_of
from shop.errors import Internal, InvalidArgument, ShopError
from shop.platform.error_codes import error_for_code

T = TypeVar("T")

PATH = "/graphql"
STREAM_PATH = "/graphql/stream"
UNKNOWN_HASH = "PERSISTED_QUERY_NOT_FOUND"

_HEADERS = {"content-type": "application/json"}
_STREAM_HEADERS = {**_HEADERS, "accept": "text/event-stream"}
_DATA = b"data: "
_CAPITAL = re.compile(r"[A-Z]")
_LOG = logging.getLogger(__name__)


class _Extensions(msgspec.Struct, frozen=True, rename="camel"):
    code: str = ""
    field: str = ""
    retry_after: int = 0


class _Error(msgspec.Struct):
    message: str
    extensions: _Extensions = _Extensions()


class _Answer(msgspec.Struct, Generic[T]):
    data: dict[str, T] | None = None
    errors: list[_Error] = []


def graphql_client(service: Service[P], channel: HttpChannel) -> P:
    methods = {method.contract: method for method in methods_of(service)}

    def make(row: Call[..., object]) -> Callable[..., object] | None:
        method = methods.get(row)
        if method is None:
            return None
        call = _GraphQLCall(method, channel)
        return call.follow if method.watches else call.rows if method.lists else call.run

    return service.implement(make)


class _GraphQLCall(Generic[Q, R]):
    def __init__(self, method: PortMethod[Q, R], channel: HttpChannel) -> None:
        self._method = method
        self._channel = channel
        self._document = CallDocument(method)
        answer = bool if method.answer is type(None) else method.answer
        decoder: msgspec.json.Decoder[_Answer[object]] = msgspec.json.Decoder(GenericAlias(_Answer, answer))
        self._decode_answer = decoder.decode
        self._places = [
            (name, camel(parameter.field).split("."), _encoder(name, parameter.type))
            for name, parameter in method.parameters.items()
        ]

    async def run(self, *given: Q.args, **named: Q.kwargs) -> R:
        """Makes the call; raises the service's error, `Unavailable`, or `InvalidArgument` for what cannot be sent."""
        return await self._answer(self._method.bind(*given, **named))

    def rows(self, *given: Q.args, **named: Q.kwargs) -> AsyncIterator[object]:
        """Yields rows page by page, where other protocols stream."""
        arguments, (after, _) = self._method.bind(*given, **named), self._method.position

        async def page(after_id: int, size: int) -> Sequence[object]:
            return cast("Sequence[object]", await self._answer({**arguments, after: after_id, "limit": size}))

        return pages(self._method, arguments, page, ROWS_PER_PAGE)

    async def follow(self, *given: Q.args, **named: Q.kwargs) -> AsyncGenerator[R]:
        """Yields the events of a subscription; raises the same errors as `run`."""
        arguments = self._method.bind(*given, **named)
        request = self._request(STREAM_PATH, self._encode(arguments, query=self._document.text), _STREAM_HEADERS)
        async with aclosing(self._channel.lines(request)) as lines:
            async for line in lines:
                # Every event has one line of data, except the event that ends the stream.
                if line.startswith(_DATA) and (data := line[len(_DATA) :].strip()):
                    yield self._value(self._decode(data), arguments)

    async def _answer(self, arguments: Mapping[str, object]) -> R:
        persisted = self._document.persisted
        answer = await self._send(arguments, self._encode(arguments, extensions=persisted))
        if answer.errors:
            body = self._encode(arguments, query=self._document.text, extensions=persisted)
            answer = await self._send(arguments, body)
        return self._value(answer, arguments)

    async def _send(self, arguments: Mapping[str, object], body: bytes) -> _Answer[object]:
        """Returns the answer; its only error is that the hash is unknown. Raises any other error."""

        def read(received: HttpAnswer) -> _Answer[object]:
            answer = self._decode(received.body)
            if answer is None:
                raise self._channel.unreadable(received, self._document.name, "GraphQL")
            if answer.errors and answer.errors[0].extensions.code != UNKNOWN_HASH:
                raise self._error(answer.errors[0], arguments)
            return answer

        return await self._channel.send(self._request(PATH, body, _HEADERS), read, again=self._method.contract.reads)

    def _request(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpRequest:
        return HttpRequest("POST", path, self._document.name, self._document.attributes, body, headers)

    def _encode(self, arguments: Mapping[str, object], **body: object) -> bytes:
        try:
            return orjson.dumps({**body, "variables": self._variables(arguments)})
        except TypeError:
            raise self._method.find_misfit(arguments) or InvalidArgument("an argument is out of range") from None

    def _variables(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Returns the variables for the arguments that are not None."""
        variables: dict[str, object] = {}
        resources: dict[str, dict[str, object]] = {}
        for name, (*outer, place), encode in self._places:
            value = arguments.get(name)
            if value is not None:
                within = variables
                for resource in outer:
                    within = resources.setdefault(resource, {})
                within[place] = value if encode is None else encode(value)
        return {**variables, **resources}

    def _decode(self, body: bytes) -> _Answer[object] | None:
        """Returns the answer in a body; None if it has no answer. An answer with an error may have partial data."""
        try:
            return self._decode_answer(body)
        except UNREADABLE:
            pass
        try:
            answer = msgspec.json.decode(body, type=_Answer[msgspec.Raw])
        except UNREADABLE:
            return None
        return _Answer(None, answer.errors)

    def _value(self, answer: _Answer[object] | None, arguments: Mapping[str, object]) -> R:
        if answer is not None and answer.errors:
            raise self._error(answer.errors[0], arguments)
        if answer is None or not answer.data:
            _LOG.error("%s answered %s without its data", self._channel.peer, self._document.name)
            raise Internal("internal error")
        return self._method.value(next(iter(answer.data.values())))

    def _error(self, error: _Error, arguments: Mapping[str, object]) -> ShopError:
        """Returns the service's error; an answer with partial data counts as failed."""
        extensions = error.extensions
        field = _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", extensions.field)
        raised = error_for_code(extensions.code, error.message, field, extensions.retry_after)
        if type(raised) is InvalidArgument and not field:
            # GraphQL's own check of a variable does not report the contract's name for the field.
            return self._method.find_misfit(arguments) or raised
        return raised


def _encoder(name: str, kind: Kind) -> Callable[[object], object] | None:
    """Returns a function that makes JSON from an argument; None if the argument is sent as it is."""
    if name == EXPECTED:
        return _without_id
    [item] = get_args(kind) if get_origin(kind) is Sequence else [bare(kind)]
    return _camel if is_struct(item) else None


def _camel(value: object) -> object:
    if isinstance(value, list):
        return list(map(_camel, value))
    return _fields(value) if isinstance(value, msgspec.Struct) else value


def _without_id(value: object) -> object:
    # The id is a separate argument of the call.
    return _fields(value, "id")


def _fields(value: object, *but: str) -> object:
    assert isinstance(value, msgspec.Struct)
    return {camel(name): _camel(getattr(value, name)) for name in value.__struct_fields__ if name not in but}
