"""The caller's side of REST: requests, answers decoded into value types, problems into the errors that they are."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from shop.clients.http_channel import Answer, HttpChannel
from shop.clients.pages import pages
from shop.errors import Internal, InvalidArgument, InvalidPageToken, ShopError, changed_since
from shop.platform.errors import error_for_code

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")

PROBLEM = "application/problem+json"
JSON = {"content-type": "application/json"}
LARGEST_PAGE = 10_000

_LOG = logging.getLogger(__name__)


class _FieldError(msgspec.Struct):
    field: str
    message: str


class _Problem(msgspec.Struct):
    code: str
    detail: str
    field: str = ""
    errors: list[_FieldError] = []


class RestPeer:
    """One service as its callers see it over REST."""

    def __init__(self, channel: HttpChannel) -> None:
        self._channel = channel

    async def get(
        self,
        answer: type[T],
        template: str,
        *path: object,
        query: Mapping[str, object] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> T:
        """Reads something; repeats the request if there is no answer.

        Args:
            answer: Type of the answer.
            template: Path with a place for each of `path`: "/v1/products/{product_id}".
            path: Values for these places.
            query: Parameters; those that are None are left out.
            fields: The contract's names of parameters, by REST's.

        Raises:
            ShopError: What the service raised, or `Unavailable` if it does not answer.
        """
        return await self._call(answer, "GET", template, path, query=query, fields=fields, again=True)

    async def send(
        self,
        answer: type[T],
        method: str,
        template: str,
        *path: object,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> T:
        """Changes something; sends the request once.

        Args:
            answer: Type of the answer.
            method: The HTTP method.
            template: Path with a place for each of `path`: "/v1/products/{product_id}".
            path: Values for these places.
            body: What to send as JSON; None for nothing.
            headers: More headers.
            fields: The contract's names of the body's fields and the parameters, by REST's; "" is the whole body, and a
                name that ends with a dot stands for all that start with it.

        Raises:
            ShopError: What the service raised, or `Unavailable` if it does not answer.
        """
        return await self._call(answer, method, template, path, body=body, headers=headers, fields=fields)

    async def if_match(self, expected: object, template: str, resource_id: int, *, kind: str) -> dict[str, str]:
        """Returns the headers that let a change be made only to what is expected: its entity tag, read again.

        Args:
            expected: The resource as the caller read it; None for no condition.
            template: Path of the resource.
            resource_id: Its id.
            kind: Name of its kind, for messages.

        Raises:
            PreconditionFailed: It has changed.
            ShopError: What the service raised, or `Unavailable` if it does not answer.
        """
        if expected is None:
            return {}
        fields = {f"{kind}_id": "id"}
        received = await self._exchange("GET", template, (resource_id,), fields=fields, again=True)
        if self._decode(type(expected), received, f"GET {template}") != expected:
            raise changed_since(kind, resource_id)
        return {"if-match": received.headers["etag"]}

    async def _call(
        self,
        answer: type[T],
        method: str,
        template: str,
        path: Iterable[object],
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> T:
        received = await self._exchange(
            method, template, path, query=query, body=body, headers=headers, fields=fields, again=again
        )
        if received.status == 204:
            return msgspec.convert(None, answer)
        return self._decode(answer, received, f"{method} {template}")

    async def _exchange(
        self,
        method: str,
        template: str,
        path: Iterable[object],
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> Answer:
        target = _target(template, path, query, fields or {})
        received = await self._channel.send(
            method,
            target,
            body=None if body is None else _encode(body),
            headers={**(JSON if body is not None else {}), **(headers or {})},
            name=f"{method} {template}",
            attributes={"url.template": template},
            again=again,
        )
        if not 200 <= received.status < 300:
            raise self._error(received, f"{method} {template}", fields or {})
        return received

    def _decode(self, answer: type[T], received: Answer, call: str) -> T:
        try:
            return msgspec.json.decode(received.body, type=answer)
        except msgspec.DecodeError as error:
            _LOG.error("%s answered %s with another body: %s", self._channel.peer, call, error)
            raise Internal("internal error") from error

    def _error(self, received: Answer, call: str, fields: Mapping[str, str]) -> ShopError:
        """Returns the error that the service raised; one that fits the status where it came from elsewhere."""
        if received.headers.get("content-type", "").startswith(PROBLEM):
            try:
                problem = msgspec.json.decode(received.body, type=_Problem)
                return _restored(problem, fields, received.retry_after_s)
            except msgspec.DecodeError:
                pass
        return self._channel.unreadable(received, call, "problem")

    def pages(
        self,
        page: type[P],
        template: str,
        after: str,
        start: int,
        limit: int,
        *,
        rows: Callable[[P], Sequence[R]],
        id_of: Callable[[R], int],
    ) -> AsyncIterator[R]:
        """Reads rows page by page, where other protocols stream.

        Args:
            page: Type of a page.
            template: Path of the listing.
            after: Name of the parameter that holds the id to begin behind.
            start: The id to begin behind.
            limit: How many rows to read in all; 0 for the contract's default.
            rows: Returns the rows of a page.
            id_of: Returns the id of a row.

        Raises:
            ShopError: What the service raised, or `Unavailable` if it does not answer.
        """

        async def one(after_id: int, asked: int) -> Sequence[R]:
            return rows(await self.get(page, template, query={after: after_id, "page_size": asked}))

        return pages(one, start, limit, largest=LARGEST_PAGE, id_of=id_of)


def optional(value: T, default: T) -> T | None:
    """Returns None for the value that stands for the service's default, so that the parameter is left out."""
    return None if value == default else value


def listed(ids: Iterable[int]) -> str:
    """Returns ids as a filter takes them: "1,2,3"."""
    return ",".join(map(str, ids))


def _restored(problem: _Problem, fields: Mapping[str, str], retry_s: int) -> ShopError:
    message, field = problem.detail, problem.field
    if problem.errors:
        # What FastAPI found: the contract's names in place of REST's, all of it.
        named = [(_name(one.field, fields), one.message) for one in problem.errors]
        message = "; ".join(f"{name}: {text}" if name else text for name, text in named)
        field = named[0][0]
    else:
        field = _name(field, fields)
    error = error_for_code(problem.code, message, field, retry_s)
    if type(error) is InvalidArgument and field == "page_token":
        return InvalidPageToken(message, field=field)
    return error


def _name(field: str, fields: Mapping[str, str]) -> str:
    for rest, contract in fields.items():
        if field == rest:
            return contract
        if rest.endswith(".") and field.startswith(rest):
            return contract + field.removeprefix(rest)
    return field


def _target(
    template: str, path: Iterable[object], query: Mapping[str, object] | None, fields: Mapping[str, str]
) -> str:
    parts = iter(path)
    pieces = []
    for piece in template.split("{"):
        name, closed, rest = piece.partition("}")
        if not closed:
            pieces.append(piece)
            continue
        value = str(next(parts))
        if not value:
            field = fields.get(name, name)
            raise InvalidArgument(f"{field} must not be empty", field=field)
        pieces.append(quote(value, safe="", errors="backslashreplace") + rest)
    given = {name: value for name, value in (query or {}).items() if value is not None}
    if given:
        pieces.append("?" + urlencode(given, quote_via=quote, safe=",", errors="backslashreplace"))
    return "".join(pieces)


def _encode(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (OverflowError, UnicodeEncodeError):
        # More than 64 bits, or half a character: the service says which field it is.
        return json.dumps(msgspec.to_builtins(body)).encode()
