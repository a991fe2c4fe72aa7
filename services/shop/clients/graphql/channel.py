"""The caller's side of GraphQL: fixed documents, sent by their hash, and restored errors."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import orjson

from shop.clients.http_channel import HttpChannel
from shop.errors import Internal, InvalidArgument, ShopError
from shop.money import Money
from shop.platform.errors import error_for_code

PATH = "/graphql"
STREAM_PATH = "/graphql/stream"
UNKNOWN_HASH = "PERSISTED_QUERY_NOT_FOUND"

_HEADERS = {"content-type": "application/json"}
_STREAM_HEADERS = {**_HEADERS, "accept": "text/event-stream"}
_DATA = b"data: "
_LEAST, _MOST = -(2**63), 2**63 - 1
_OPERATION = re.compile(r"\s*(query|mutation|subscription)\s+(\w+)")
_HALF = re.compile("[\ud800-\udfff]")
_CAPITAL = re.compile(r"[A-Z]")
_SNAKE = re.compile(r"_([a-z])")
_LOG = logging.getLogger(__name__)


class Document:
    """One operation that a client sends: its text, its hash, and its span attributes.

    Args:
        text: One named operation, and its fragments.
    """

    __slots__ = ("attributes", "changes", "name", "persisted", "text")

    def __init__(self, text: str) -> None:
        operation = _OPERATION.match(text)
        if operation is None:
            raise ValueError("a document begins with a named operation")
        kind, self.name = operation[1], operation[2]
        self.text = text
        self.changes = kind == "mutation"
        self.attributes = {"graphql.operation.type": kind, "graphql.operation.name": self.name}
        self.persisted = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(text.encode()).hexdigest()}}


class GraphQLPeer:
    """One service as its callers see it over GraphQL."""

    def __init__(self, channel: HttpChannel) -> None:
        self._channel = channel

    async def run(self, document: Document, **variables: object) -> Any:
        """Runs an operation of one field.

        Args:
            document: The operation.
            variables: Values of its variables, in snake case.

        Returns:
            The field's value.

        Raises:
            ShopError: What the service raised, `Unavailable` if it does not answer, or `InvalidArgument` for a value
                that cannot be sent.
        """
        body: dict[str, object] = {"variables": _camel(variables), "extensions": document.persisted}
        answer = await self._send(document, body, variables)
        if "errors" in answer and _code(answer) == UNKNOWN_HASH:
            answer = await self._send(document, {"query": document.text, **body}, variables)
        return self._value(answer, document, variables)

    async def follow(self, document: Document, **variables: object) -> AsyncGenerator[Any]:
        """Follows a subscription of one field, and yields its values; arguments and errors as those of `run`."""
        body = self._encoded({"query": document.text, "variables": _camel(variables)}, variables)
        async with aclosing(self._channel.lines(STREAM_PATH, body, _STREAM_HEADERS)) as lines:
            async for line in lines:
                # Nothing is in two lines; the event behind the last one has no data.
                if line.startswith(_DATA) and (data := line[len(_DATA) :].strip()):
                    yield self._value(orjson.loads(data), document, variables)

    def _value(self, answer: dict[str, Any], document: Document, variables: dict[str, object]) -> Any:
        if "errors" in answer:
            raise _error(answer, variables)
        data = answer.get("data")
        if not isinstance(data, dict) or len(data) != 1:
            _LOG.error("%s answered %s without data", self._channel.peer, document.name)
            raise Internal("internal error")
        return next(iter(data.values()))

    async def pages(self, document: Document, after: str, last: str, start: int, limit: int) -> AsyncIterator[Any]:
        """Reads rows page by page, where other protocols stream.

        Args:
            document: Reads a page: of the rows behind an id, with a limit.
            after: Name of the variable that holds this id.
            last: Name of this id in a row.
            start: The id to begin behind.
            limit: How many rows to read in all; 0 for what the service gives then, in one page.

        Yields:
            The rows.
        """
        left, behind = limit, start
        while True:
            rows = await self.run(document, **{after: behind, "limit": left})
            for row in rows:
                yield row
            left -= len(rows)
            if not rows or left <= 0:
                return
            behind = rows[-1][last]

    async def _send(self, document: Document, body: dict[str, object], variables: dict[str, object]) -> dict[str, Any]:
        received = await self._channel.send(
            "POST",
            PATH,
            body=self._encoded(body, variables),
            headers=_HEADERS,
            name=document.name,
            attributes=document.attributes,
            again=not document.changes,
        )
        try:
            answer = orjson.loads(received.body)
            if isinstance(answer, dict):
                return answer
        except orjson.JSONDecodeError:
            pass
        raise self._channel.unreadable(received, document.name, "GraphQL")

    def _encoded(self, body: dict[str, object], variables: dict[str, object]) -> bytes:
        try:
            return orjson.dumps(body)
        except TypeError:
            misfit = next(_misfits(variables, ""), "")
            raise InvalidArgument(f"{misfit} is out of range", field=misfit) from None


def money(answer: dict[str, Any]) -> Money:
    """Returns the amount of an answer."""
    return Money(answer["amountMinor"], answer["currency"])


def _code(answer: dict[str, Any]) -> str:
    return str(answer["errors"][0].get("extensions", {}).get("code", ""))


def _error(answer: dict[str, Any], variables: dict[str, object]) -> ShopError:
    """Returns the error that the service raised; an answer of which a part is missing is no answer."""
    first = answer["errors"][0]
    extensions = first.get("extensions", {})
    field = _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", str(extensions.get("field", "")))
    error = error_for_code(_code(answer), first["message"], field, extensions.get("retryAfter", 0))
    if type(error) is InvalidArgument and not field:
        # GraphQL's own check of a variable does not name its place as the contract does.
        for misfit in _misfits(variables, ""):
            return InvalidArgument(f"{misfit} is out of range", field=misfit)
    return error


def _camel(value: object) -> object:
    if isinstance(value, dict):
        return {_SNAKE.sub(lambda letter: letter[1].upper(), name): _camel(entry) for name, entry in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_camel(entry) for entry in value]
    return value


def _misfits(value: object, at: str) -> Iterator[str]:
    """Yields the places of values that GraphQL over JSON cannot carry: over 64 bits, or a lone surrogate."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from _misfits(entry, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _misfits(entry, f"{at}[{index}]")
    elif isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            yield at
    elif isinstance(value, str) and _HALF.search(value):
        yield at
