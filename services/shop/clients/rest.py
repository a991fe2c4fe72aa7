"""A REST client: builds requests from the contract's routes, decodes answers by type, raises problems as errors."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import GenericAlias, MappingProxyType
from typing import Generic, cast, get_args
from urllib.parse import quote, urlencode

import msgspec

from shop.clients.http_channel import HttpAnswer, HttpChannel, HttpRequest, Problem
from shop.clients.pages import pages
from shop.contract.calls import Call, P, Q, R, Service
from shop.contract.signatures import EXPECTED, UNREADABLE, PortMethod, bare, is_struct, methods_of
from shop.errors import Internal, InvalidArgument, InvalidPageToken, ShopError, changed_since
from shop.platform.error_codes import error_for_code
from shop.platform.validation import matching
from shop.values.page import Page

JSON = {"content-type": "application/json"}
KEY, KEY_HEADER = "idempotency_key", "Idempotency-Key"
MAX_PAGE = 10_000

_KEY = re.compile(r"([!-~]([ -~]{0,62}[!-~])?)?")
"""The form of a key that arrives as it was sent: HTTP strips spaces at the ends of a header's value."""
_KEY_FORM = "1 to 64 printable ASCII characters, without a space at either end"
_LOG = logging.getLogger(__name__)


def rest_client(service: Service[P], channel: HttpChannel) -> P:
    """Returns a client for a service over REST; the client lacks the service's endless streams."""
    calls: dict[str, _RestCall[..., object]] = {}
    methods = [method for method in methods_of(service) if not method.watches]
    by_row = {method.contract: _RestCall(method, channel, calls) for method in methods}
    calls.update((call.name, call) for call in by_row.values())

    def make(row: Call[..., object]) -> Callable[..., object] | None:
        call = by_row.get(row)
        if call is None:
            return None
        return call.rows if call.method.lists else call.run

    return service.implement(make)


class _RestCall(Generic[Q, R]):
    """A call in the form of a REST request; `calls` has all calls of the service by their names.

    Attributes:
        name: HTTP method and path: "GET /v1/products/{product_id}".
        query: The part of the query that belongs to the route: "include=reviews".
        others: Parameters that go into the query of a GET, or into the body of any other request.
        fields: The contract's names for parameters and body fields, by their REST names. "" is the whole body; a
            name that ends with a dot stands for all names that start with it.
    """

    def __init__(
        self, method: PortMethod[Q, R], channel: HttpChannel, calls: Mapping[str, _RestCall[..., object]]
    ) -> None:
        self.method = method
        self._channel = channel
        self._calls = calls
        self.name, _, self.query = method.contract.rest.partition("?")
        self.verb, _, self.template = self.name.partition(" ")
        self.path = re.findall(r"{(\w+)}", self.template)
        self.others = [name for name in method.parameters if name not in (*self.path, EXPECTED, KEY)]
        self.fields = {"": "update_mask"} if method.masked else {}
        if KEY in method.parameters:
            self.fields[KEY_HEADER] = KEY
        for name, (field, kind, *_) in method.parameters.items():
            if name != field:
                self.fields[name] = field
                if is_struct(bare(kind)):
                    self.fields[f"{name}."] = f"{field}."
        self._decode = msgspec.json.Decoder(_type_of_body(method)).decode

    async def run(self, *given: Q.args, **named: Q.kwargs) -> R:
        """Makes the call; retries a failed read. Raises the service's error, or `Unavailable` for no answer."""
        arguments = self.method.bind(*given, **named)
        headers = {}
        if KEY in arguments:
            headers[KEY_HEADER] = matching(cast(str, arguments[KEY]), KEY, _KEY, _KEY_FORM)
        if arguments.get(EXPECTED) is not None:
            headers["if-match"] = await self._entity_tag(arguments)
        return self.value(await self.exchange(self.target(arguments), self._body(arguments), headers))

    async def _entity_tag(self, arguments: Mapping[str, object]) -> str:
        """Reads a resource again and returns its entity tag; raises `PreconditionFailed` if it has changed."""
        read = self._calls[f"GET {self.template}"]
        received = await read.exchange(read.target(arguments))
        if read.value(received) != arguments[EXPECTED]:
            [name] = self.path
            raise changed_since(name.removesuffix("_id"), cast(int, arguments[name]))
        return received.headers["etag"]

    def rows(self, *given: Q.args, **named: Q.kwargs) -> AsyncIterator[object]:
        """Yields rows page by page, where other protocols stream; raises the same errors as `run`."""
        after, _ = self.method.position

        async def page(after_id: int, size: int) -> Sequence[object]:
            target = f"{self.template}?{urlencode({after: after_id, 'page_size': size})}"
            return cast("Sequence[object]", self.value(await self.exchange(target)))

        return pages(self.method, self.method.bind(*given, **named), page, MAX_PAGE)

    async def exchange(
        self, target: str, body: bytes | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> HttpAnswer:
        """Returns a successful answer to a request; raises the errors of `run`."""
        sent = {**(JSON if body is not None else {}), **headers}
        request = HttpRequest(self.verb, target, self.name, {"url.template": self.template}, body, sent)

        def read(received: HttpAnswer) -> HttpAnswer:
            if not 200 <= received.status < 300:
                raise self._error(received)
            return received

        return await self._channel.send(request, read, again=self.method.contract.reads)

    def value(self, received: HttpAnswer) -> R:
        """Returns the method's result, or the rows of a page, from an answer."""
        if received.status == 204:
            return self.method.value(None)
        try:
            decoded = self._decode(received.body)
        except UNREADABLE as error:
            _LOG.error("%s answered %s with another body: %s", self._channel.peer, self.name, error)
            raise Internal("internal error") from error
        if self.method.field:
            items = getattr(decoded, self.method.field)
            decoded = Page(items, decoded.next_page_token) if self.method.pages else items
        return self.method.value(decoded)

    def _error(self, received: HttpAnswer) -> ShopError:
        """Returns the service's error, or an error for the status if a proxy answered."""
        problem = received.problem()
        if problem is None:
            return self._channel.unreadable(received, self.name, "problem")
        return _restore(problem, self.fields, received.retry_after_s)

    def target(self, arguments: Mapping[str, object]) -> str:
        """Returns path and query, without the contract's defaults; raises `InvalidArgument` for an empty path part."""
        path = self.template
        for name in self.path:
            part = str(arguments[name])
            if not part:
                field = self.fields.get(name, name)
                raise InvalidArgument(f"{field} must not be empty", field=field)
            path = path.replace(f"{{{name}}}", quote(part, safe="", errors="backslashreplace"))
        if self.verb != "GET":
            return path
        given = {
            name: ",".join(map(str, value)) if isinstance(value, list) else value
            for name in self.others
            if (value := arguments[name]) != self.method.parameters[name].default
        }
        query = urlencode(given, quote_via=quote, safe=",", errors="backslashreplace")
        return "?".join(filter(None, (path, "&".join(filter(None, (self.query, query))))))

    def _body(self, arguments: Mapping[str, object]) -> bytes | None:
        """Returns the body of a change, without values that are None; None if the call has no body."""
        if self.verb == "GET" or not self.others:
            return None
        return _encode({name: arguments[name] for name in self.others if arguments[name] is not None})


def _type_of_body(method: PortMethod[..., object]) -> object:
    if method.answer is type(None):
        return msgspec.Raw
    if not method.field:
        return method.answer
    if not method.pages:
        return msgspec.defstruct(method.contract.name, [(method.field, method.answer)])
    items = GenericAlias(tuple, (*get_args(method.answer), ...))
    return msgspec.defstruct(method.contract.name, [(method.field, items), ("next_page_token", str)])


def _restore(problem: Problem, fields: Mapping[str, str], retry_s: int) -> ShopError:
    message, field = problem.detail, problem.field
    if problem.errors:
        # All of FastAPI's validation errors, with the contract's names instead of REST's.
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


def _encode(body: object) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (OverflowError, UnicodeEncodeError):
        # The body has a number of more than 64 bits, or a lone surrogate: the service will say in which field.
        return json.dumps(msgspec.to_builtins(body)).encode()
