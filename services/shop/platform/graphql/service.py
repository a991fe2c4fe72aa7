"""A service's use cases over GraphQL, derived from the table of calls, at two endpoints.

- `/graphql` is for gateways and other services. Calls from outside are refused.
- `/graphql/<service>` is for clients, and for routers that pass on their tokens. Every call counts as a call from
  outside, and the table of calls says which callers it admits. Documents have the cost limits of the GraphQL gateway.
  There are no subscriptions.

Reads are fields of `Query`, changes fields of `Mutation`, and streams fields of `Subscription`. The names are in
`shop.contract.graphql`; the types follow from the port and its value types.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from datetime import datetime
from enum import EnumType
from functools import cache
from inspect import Parameter, Signature
from operator import attrgetter, itemgetter
from types import GenericAlias
from typing import Annotated, Generic, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
import strawberry
from starlette.types import ASGIApp, Receive, Scope, Send
from strawberry.tools import create_type
from strawberry.types.field import StrawberryField

from shop.contract.calls import Access, Call, Service
from shop.contract.graphql import ROWS_PER_PAGE, group_name, operation_of, root_field
from shop.contract.signatures import EXPECTED, Kind, PortMethod, bare, is_optional, is_struct, list_of, methods_of
from shop.contract.signatures import Parameter as ParameterOfCall
from shop.fields import Instant as WholeSeconds
from shop.platform.access.rules import Authenticator
from shop.platform.config import EDGE_MARK
from shop.platform.graphql.cost import Tariff
from shop.platform.graphql.endpoint import ROUTE, Endpoint
from shop.platform.graphql.scalars import Instant, Long, Moment
from shop.platform.graphql.schema import ClientContext, RequestContext, Schema
from shop.platform.incoming import Around, Incoming
from shop.values.notification import KEPT
from shop.values.order import MAX_LINES
from shop.values.page import DEFAULT_ROWS, MAX_ROWS, Page
from shop.values.product import MAX_RECORDS, MAX_REVIEWS, MAX_SECTIONS

FieldArguments: TypeAlias = Mapping[str, object]
"""The arguments of a field, by name."""
P = TypeVar("P")
DEFAULT_ITEMS, DEFAULT_ORDERS = 20, 10
"""Largest sizes of pages whose size is not given: of items, of orders."""

_ADMITTED = nullcontext()


class ComponentRequest(RequestContext, Generic[P]):
    """One request from another component of the shop; all of its calls are admitted together."""

    __slots__ = ("service",)

    def __init__(self, service: P) -> None:
        super().__init__()
        self.service = service

    def admit(self, _row: Call[..., object], /) -> AbstractContextManager[None]:
        return _ADMITTED


class ClientRequest(ClientContext, Generic[P]):
    """One request from a client; each of its calls is admitted by the call's row, and runs in its `around`."""

    __slots__ = ("_around", "service")

    def __init__(
        self, service: P, authenticator: Authenticator, headers: Mapping[bytes, bytes], around: Mapping[str, Around]
    ) -> None:
        super().__init__(authenticator, headers)
        self.service = service
        self._around = around

    def admit(self, row: Call[..., object], /) -> AbstractContextManager[None]:
        """Admits the caller to a call, and returns the context of its work.

        Raises `Unauthenticated` if there is no valid token, or `PermissionDenied` if it does not admit the caller.
        """
        self._authenticator.admit_client(row.access, self._authorization)
        around = self._around.get(row.name)
        if around is None:
            return _ADMITTED
        return around({} if self.address is None else {EDGE_MARK: self.address})


ServiceInfo: TypeAlias = "strawberry.Info[ComponentRequest[object] | ClientRequest[object], None]"

TARIFF = Tariff(
    bounds=("ids", "orderIds", "productIds", "pageSize", "limit", "representations"),
    pages="Page",
    items={
        ("Document", "sections"): MAX_SECTIONS,
        ("DocumentSection", "records"): MAX_RECORDS,
        ("Order", "lines"): MAX_LINES,
        ("ProductReviews", "reviews"): MAX_REVIEWS,
        ("Query", "notifications"): KEPT,
        ("Query", "orderLines"): DEFAULT_ROWS,
        ("Query", "ordersByUser"): DEFAULT_ORDERS,
        ("Query", "productPage"): DEFAULT_ITEMS,
        ("Query", "productPageWithReviews"): DEFAULT_ITEMS,
        ("Query", "productRows"): DEFAULT_ROWS,
        ("Query", "userPage"): DEFAULT_ITEMS,
        ("Reservation", "lines"): MAX_LINES,
        ("ReviewedProduct", "reviews"): MAX_REVIEWS,
    },
)


def client_path(service: str) -> str:
    return f"{ROUTE}/{service}"


def graphql_app(
    service: Service[P], use_cases: P, incoming: Incoming, around: Mapping[str, Around] | None = None
) -> ASGIApp:
    """Returns a service's GraphQL application; the contexts `around` are those of `Offer`, for calls of clients."""
    authenticator, schema, path = incoming.authenticator, schema_of(service), client_path(service.name)

    def of_part(headers: dict[bytes, bytes]) -> ComponentRequest[P]:
        authenticator.admit(Access.INTERNAL, None, authenticator.origin_of(headers))
        return ComponentRequest(use_cases)

    def of_client(headers: dict[bytes, bytes]) -> ClientRequest[P]:
        authenticator.is_outside(authenticator.origin_of(headers))  # refuses callers without a required identity
        return ClientRequest(use_cases, authenticator, headers, around or {})

    # Each endpoint has its own store of documents, so that clients cannot evict those of gateways.
    parts = Endpoint(schema, of_part, incoming)
    clients = Endpoint(schema, of_client, incoming, TARIFF.measure, compresses=True, route=path)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        is_client = scope["type"] == "http" and scope["path"] == path
        await (clients if is_client else parts)(scope, receive, send)

    return app


@cache
def schema_of(service: Service[object]) -> Schema:
    types = ValueTypes()
    roots: dict[str, list[StrawberryField]] = {}
    for method in methods_of(service):
        roots.setdefault(operation_of(method), []).append(field_of(method, types))
    operations = {name: create_type(name.title(), fields) for name, fields in roots.items()}
    return Schema(operations["query"], operations["mutation"], operations.get("subscription"))


INFO = Parameter("info", Parameter.POSITIONAL_OR_KEYWORD, annotation=strawberry.Info)


def field_of(method: PortMethod[..., object], types: ValueTypes) -> StrawberryField:
    name, items = root_field(method)
    arguments, call = _arguments(method, types), _Resolver(method)
    answer: Kind = bool if method.answer is type(None) else types.output(method.answer, items)
    resolve = call.rows if method.lists else call.follow if method.watches else call.run

    def resolver(info: ServiceInfo, **given: object) -> object:
        return resolve(info, given)

    kind = cast(Kind, GenericAlias(AsyncGenerator, answer)) if method.watches else answer
    make = strawberry.subscription if method.watches else strawberry.field
    field = make_field(resolver, [INFO, *arguments], kind, make, name=name, description=method.summary)
    field.python_name = method.name
    return field


def make_field(
    resolver: Callable[..., object],
    parameters: Sequence[Parameter],
    answer: object,
    make: Callable[..., object] = strawberry.field,
    **described: str | None,
) -> StrawberryField:
    """Makes a field whose parameters and type are not those of its resolver's own signature."""
    resolver.__signature__ = Signature(parameters, return_annotation=answer)  # type: ignore[attr-defined]
    return cast(StrawberryField, make(resolver=resolver, **described))


def _arguments(method: PortMethod[..., object], types: ValueTypes) -> list[Parameter]:
    """Returns the arguments of a call's field: one for each field of the request."""
    hints: dict[str, object] = {}
    defaults: dict[str, object] = {}
    resources: dict[str, dict[str, Kind]] = {}
    for name, parameter in method.parameters.items():
        top, _, inside = parameter.field.partition(".")
        if inside:
            resources.setdefault(top, {})[inside] = parameter.type
            hints[top] = None
        elif name == EXPECTED:
            kind = bare(parameter.type)
            fields = {field.name: field.type for field in msgspec.structs.fields(kind) if field.name != "id"}
            hints[top] = types.input_object(f"Expected{kind.__name__}Input", fields) | None
            defaults[top] = None
        else:
            hints[top] = types.input(parameter.type)
            defaults[top] = parameter.default
    for top, fields in resources.items():
        hints[top] = types.input_object(group_name(method, top), fields)
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=defaults.get(name, Parameter.empty))
        for name, hint in hints.items()
    ]


class _Resolver:
    def __init__(self, method: PortMethod[..., object]) -> None:
        self._method = method
        self._placed = [_reader(each) for each in method.parameters.values() if not each.is_named]
        self._named = {name: _reader(each) for name, each in method.parameters.items() if each.is_named}
        if EXPECTED in self._named:
            kind, [read_id] = bare(method.parameters[EXPECTED].type), self._placed
            self._named[EXPECTED] = lambda given: _read_expected(given, kind, read_id(given))

    def _begin(self, info: ServiceInfo, given: FieldArguments) -> object:
        method: Callable[..., object] = getattr(info.context.service, self._method.contract.port)
        named = {name: read(given) for name, read in self._named.items()}
        return method(*[read(given) for read in self._placed], **named)

    async def run(self, info: ServiceInfo, given: FieldArguments) -> object:
        with info.context.admit(self._method.contract):
            value = await cast("Awaitable[object]", self._begin(info, given))
        return True if self._method.answer is type(None) else self._method.answer_of(value)

    async def rows(self, info: ServiceInfo, given: FieldArguments) -> list[object]:
        # The use case refuses a limit that is too large.
        limit = cast(int, given["limit"])
        if limit <= MAX_ROWS:
            given = {**given, "limit": min(limit, ROWS_PER_PAGE)}
        with info.context.admit(self._method.contract):
            # The rows are closed even when the caller's time is over halfway, so that their resources are free at once.
            async with aclosing(cast("AsyncGenerator[list[object]]", self._begin(info, given))) as chunks:
                return [row async for chunk in chunks for row in chunk]

    async def follow(self, info: ServiceInfo, given: FieldArguments) -> AsyncGenerator[object]:
        async with aclosing(cast("AsyncGenerator[object]", self._begin(info, given))) as events:
            async for event in events:
                yield event


def _reader(parameter: ParameterOfCall) -> Callable[[FieldArguments], object]:
    """Returns a function that reads a parameter's value from the arguments of a field."""
    top, _, inside = parameter.field.partition(".")
    kind = parameter.type
    if not inside:
        read: Callable[[FieldArguments], object] = itemgetter(top)
    else:
        part = attrgetter(inside)

        def read(given: FieldArguments) -> object:
            return part(given[top])

    if is_struct(bare(kind)) or any(map(is_struct, get_args(kind))):
        return lambda given: msgspec.convert(read(given), kind, from_attributes=True)
    return read


def _read_expected(given: FieldArguments, kind: type, number: object) -> object:
    """Returns a resource as the caller read it; its id is the call's own argument."""
    fields = given[EXPECTED]
    return None if fields is None else msgspec.convert({"id": number, **vars(fields)}, kind, from_attributes=True)


_SCALARS: Mapping[Kind, Kind] = {int: Long, datetime: Instant}
_, _WHOLE_SECONDS = get_args(WholeSeconds)


class ValueTypes:
    """The GraphQL types of one schema."""

    def __init__(self) -> None:
        self._made: dict[str, Kind] = {}

    def output(self, kind: Kind, items: str = "items") -> Kind:
        """Returns the GraphQL type of a field whose values have a type; `items` names the list in a page."""
        if get_origin(kind) is Annotated:
            inner, *notes = get_args(kind)
            return Moment if _WHOLE_SECONDS in notes else self.output(inner, items)
        if is_optional(kind):
            return cast(Kind, self.output(_without_none(kind)) | None)
        if get_origin(kind) is Page:
            [item] = get_args(kind)
            fields = {"items": list_of(item), "next_page_token": str}
            return self._type(f"{item.__name__}Page", "One page of a listing.", fields, {"items": items})
        if get_origin(kind) in (list, tuple):
            return list_of(self.output(get_args(kind)[0]))
        if is_struct(kind):
            return self._type(kind.__name__, kind.__doc__, get_type_hints(kind, include_extras=True), {})
        return _leaf(kind)

    def input(self, kind: Kind) -> Kind:
        """Returns the GraphQL type of an argument, or of an input's field, whose values have a given type."""
        if get_origin(kind) is Annotated:
            return self.input(get_args(kind)[0])
        if is_optional(kind):
            return cast(Kind, self.input(_without_none(kind)) | None)
        if get_origin(kind) is not None:
            return list_of(self.input(get_args(kind)[0]))
        return self.input_object(f"{kind.__name__}Input", get_type_hints(kind)) if is_struct(kind) else _leaf(kind)

    def input_object(self, name: str, fields: Mapping[str, Kind]) -> Kind:
        """Returns an input type with fields of these types; a field that may be None may be left out."""
        if name not in self._made:
            defaults = {field: None for field, kind in fields.items() if is_optional(kind)}
            hints = {field: self.input(kind) for field, kind in fields.items()}
            self._made[name] = strawberry.input(type(name, (), {"__annotations__": hints, **defaults}))
        return self._made[name]

    def _type(self, name: str, doc: str | None, fields: Mapping[str, Kind], names: Mapping[str, str]) -> Kind:
        if name not in self._made:
            described = {
                field: strawberry.field(name=names.get(field), description=_description(kind))
                for field, kind in fields.items()
            }
            hints = {field: self.output(kind) for field, kind in fields.items()}
            made = type(name, (), {"__annotations__": hints, **described})
            self._made[name] = self.define(made, (doc or "").partition("\n")[0])
        return self._made[name]

    def define(self, made: type, description: str) -> Kind:
        """Returns the GraphQL type for a value type, from a class with its name, annotations and fields."""
        return strawberry.type(made, description=description)


def _leaf(kind: Kind) -> Kind:
    if isinstance(kind, EnumType):
        return strawberry.enum(kind, description=(kind.__doc__ or "").partition("\n")[0])
    return _SCALARS.get(kind, kind)


def _without_none(kind: Kind) -> Kind:
    [only] = [option for option in get_args(kind) if option is not type(None)]
    return cast(Kind, only)


def _description(kind: Kind) -> str | None:
    if get_origin(kind) is Annotated:
        notes = [note for note in get_args(kind)[1:] if isinstance(note, msgspec.Meta)]
        return notes[0].description if notes else None
    return None
