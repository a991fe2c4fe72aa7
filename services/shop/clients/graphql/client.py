"""A client over GraphQL: a fixed document for each call, sent by its hash, and answers decoded by type."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Generic, TypeVar, get_args, get_origin

import msgspec
import orjson

from shop.clients.graphql.documents import CallDocument
from shop.clients.http_channel import HttpChannel
from shop.clients.ports import PORTS
from shop.contract.calls import Service
from shop.contract.graphql import camel
from shop.contract.methods import EXPECTED, UNREADABLE, PortMethod, bare, is_struct, methods_of
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


class _CallFormat:
    """A call as GraphQL carries it.

    Args:
        method: The method that is called.
    """

    def __init__(self, method: PortMethod) -> None:
        self.method = method
        self.document = CallDocument(method)
        answer: Any = Any if method.answer is type(None) else method.answer
        decoder: msgspec.json.Decoder[_Answer[Any]] = msgspec.json.Decoder(_Answer[answer])
        self._decode = decoder.decode
        self._places = [
            (name, camel(parameter.field).split("."), _encoder(name, parameter.type))
            for name, parameter in method.parameters.items()
        ]

    def variables(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the variables for arguments, without those of None."""
        variables: dict[str, Any] = {}
        for name, (*outer, place), encode in self._places:
            value = arguments.get(name)
            if value is not None:
                within = variables
                for resource in outer:
                    within = within.setdefault(resource, {})
                within[place] = value if encode is None else encode(value)
        return variables

    def decode(self, body: bytes) -> _Answer[Any] | None:
        """Returns an answer; None if it is none. One with an error may have parts of its data."""
        try:
            return self._decode(body)
        except UNREADABLE:
            pass
        try:
            answer = msgspec.json.decode(body, type=_Answer[Any])
        except UNREADABLE:
            return None
        return answer if answer.errors else _Answer()


class GraphQLClient:
    """A service as its callers see it over GraphQL: the methods of its port.

    Args:
        service: The service.
        channel: Sends the requests.
    """

    def __init__(self, service: Service, channel: HttpChannel) -> None:
        self._channel = channel
        for method in methods_of(service, PORTS[service.name]):
            kind = self._follow if method.watches else self._rows if method.lists else self._run
            setattr(self, method.name, partial(kind, _CallFormat(method)))

    async def _run(self, call: _CallFormat, /, *given: object, **named: object) -> Any:
        """Makes a call.

        Raises:
            ShopError: What the service raised, `Unavailable` if it does not answer, or `InvalidArgument` for a value
                that cannot be sent.
        """
        return call.method.value(await self._answer(call, call.method.bind(given, named)))

    async def _rows(self, call: _CallFormat, /, *given: object, **named: object) -> AsyncIterator[Any]:
        """Yields rows page by page, where other protocols stream; the service decides how long a page is."""
        arguments = call.method.bind(given, named)
        after, id_of = call.method.position
        while True:
            rows = await self._answer(call, arguments)
            for row in rows:
                yield row
            arguments["limit"] -= len(rows)
            if not rows or arguments["limit"] <= 0:
                return
            arguments[after] = id_of(rows[-1])

    async def _follow(self, call: _CallFormat, /, *given: object, **named: object) -> AsyncGenerator[Any]:
        """Yields the events of a subscription; errors as those of a call."""
        arguments = call.method.bind(given, named)
        document = call.document
        body = _encode(call, arguments, query=document.text)
        sent = self._channel.lines(STREAM_PATH, body, _STREAM_HEADERS, document.name, document.attributes)
        async with aclosing(sent) as lines:
            async for line in lines:
                # Nothing is in two lines; the event behind the last one has no data.
                if line.startswith(_DATA) and (data := line[len(_DATA) :].strip()):
                    yield self._value(call.decode(data), call, arguments)

    async def _answer(self, call: _CallFormat, arguments: Mapping[str, Any]) -> Any:
        document = call.document
        answer = await self._send(call, _encode(call, arguments, extensions=document.persisted))
        if answer.errors and answer.errors[0].extensions.code == UNKNOWN_HASH:
            body = _encode(call, arguments, query=document.text, extensions=document.persisted)
            answer = await self._send(call, body)
        return self._value(answer, call, arguments)

    async def _send(self, call: _CallFormat, body: bytes) -> _Answer[Any]:
        document = call.document
        received = await self._channel.send(
            "POST",
            PATH,
            body=body,
            headers=_HEADERS,
            name=document.name,
            attributes=document.attributes,
            again=call.method.contract.reads,
        )
        answer = call.decode(received.body)
        if answer is None:
            raise self._channel.unreadable(received, document.name, "GraphQL")
        return answer

    def _value(self, answer: _Answer[Any] | None, call: _CallFormat, arguments: Mapping[str, Any]) -> Any:
        if answer is not None and answer.errors:
            raise _error(answer.errors[0], call, arguments)
        if answer is None or not answer.data:
            _LOG.error("%s answered %s without its data", self._channel.peer, call.document.name)
            raise Internal("internal error")
        return next(iter(answer.data.values()))


def _error(error: _Error, call: _CallFormat, arguments: Mapping[str, Any]) -> ShopError:
    """Returns the error that the service raised; an answer of which a part is missing is no answer."""
    extensions = error.extensions
    field = _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", extensions.field)
    raised = error_for_code(extensions.code, error.message, field, extensions.retry_after)
    if type(raised) is InvalidArgument and not field:
        # GraphQL's own check of a variable does not name its place as the contract does.
        return call.method.find_misfit(arguments) or raised
    return raised


def _encode(call: _CallFormat, arguments: Mapping[str, Any], **body: object) -> bytes:
    try:
        return orjson.dumps({**body, "variables": call.variables(arguments)})
    except TypeError:
        raise call.method.find_misfit(arguments) or InvalidArgument("an argument is out of range") from None


def _encoder(name: str, kind: Any) -> Callable[[Any], Any] | None:
    """Returns what makes JSON of an argument; None if the argument is sent as it is."""
    if name == EXPECTED:
        return _without_id
    if get_origin(kind) is Sequence:
        [item] = get_args(kind)
        return None if item is int else lambda items: [_camel(item) for item in items]
    return _camel if is_struct(bare(kind)) else None


def _camel(value: Any) -> Any:
    if not isinstance(value, msgspec.Struct):
        return value
    return {camel(name): _camel(getattr(value, name)) for name in value.__struct_fields__}


def _without_id(value: Any) -> Any:
    fields = _camel(value)
    # The call has it as an argument.
    del fields["id"]
    return fields
