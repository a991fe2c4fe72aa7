"""A service's calls as adapters need them: with the port's parameters and types, and the contract's names."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import GenericAlias
from typing import Generic, NamedTuple, TypeAlias, TypeGuard, cast, get_args, get_origin, get_type_hints

import msgspec

from shop.contract.calls import Call, Q, R, Service
from shop.contract.wire import protobuf_codec, requests
from shop.errors import InvalidArgument
from shop.values.page import Page
from shop.values.product import ProductReviews, Review

EXPECTED = "expected"
"""Parameter of a conditional change: the resource as the caller read it."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)
"""Errors that decoding JSON by type can raise."""

Kind: TypeAlias = type
"""The type of an argument or answer as an annotation: `int | None`, `Sequence[int]`."""

_REVIEWS: Kind = list[ProductReviews]


class Parameter(NamedTuple):
    """A parameter of a method.

    Attributes:
        field: Path of the field in the request's message: "id", "product.title".
        default: Default value; `inspect.Parameter.empty` if the parameter is required.
    """

    field: str
    type: Kind
    default: object
    is_named: bool


class PortMethod(Generic[Q, R]):
    """A method of a port, and its call in the contract: `Q` are its arguments, `R` is its result.

    Attributes:
        masked: Whether a request must name the fields that it changes.
        lists: Whether the method yields the rows of a listing.
        watches: Whether it yields events from now on.
        pages: Whether it returns one page of a listing.
        answer: Type of an answer, or of an event if the method watches.
        field: Field of the response's message that holds the answer; empty if the message itself is the answer.
    """

    def __init__(self, function: Callable[..., object], contract: Call[Q, R]) -> None:
        hints, codec = get_type_hints(function), protobuf_codec(contract)
        self.name = function.__name__
        self.summary = (inspect.getdoc(function) or "").partition("\n")[0]
        self.contract = contract
        self.parameters = {
            name: Parameter(codec.moved.get(name, name), kind, default, is_named)
            for name, kind, default, is_named in _parameters(function, hints)
        }
        self.masked = "update_mask" in codec.request_class.DESCRIPTOR.fields_by_name
        returned = hints["return"]
        self.lists = get_origin(returned) is AsyncIterator
        self.watches = get_origin(returned) is AsyncGenerator
        self.pages = get_origin(returned) is Page
        if self.lists:
            self.answer: Kind = list_of(*get_args(returned))
        elif self.watches:
            [self.answer, *_] = get_args(returned)
        elif get_origin(returned) is Mapping:
            self.answer = _REVIEWS
        else:
            self.answer = returned
        fields = codec.answer_class.DESCRIPTOR.fields
        self.field = "" if not fields or is_struct(self.answer) else fields[0].name
        self._sequences = [
            name for name, parameter in self.parameters.items() if get_origin(parameter.type) is Sequence
        ]
        self._names = tuple(self.parameters)
        self._request: Callable[..., object] = requests(codec)
        self._defaults = {
            name: parameter.default
            for name, parameter in self.parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }

    def bind(self, *given: Q.args, **named: Q.kwargs) -> dict[str, object]:
        """Returns all arguments of a call by name, including defaults for arguments that were not given."""
        arguments = {**self._defaults, **dict(zip(self._names, given, strict=False)), **named}
        for name in self._sequences:
            arguments[name] = list(cast("Iterable[object]", arguments[name]))
        return arguments

    def value(self, answer: object) -> R:
        """Converts a decoded answer to the method's result."""
        if self.answer is type(None):
            answer = None
        elif self.answer is _REVIEWS:
            answer = {each.product_id: each.reviews for each in cast("list[ProductReviews]", answer)}
        return cast(R, answer)

    def answer_of(self, value: object) -> object:
        """Converts the method's result to the answer to encode: the inverse of `value`."""
        if self.answer is _REVIEWS:
            reviews_of = cast("Mapping[int, Sequence[Review]]", value)
            return [ProductReviews(product_id, tuple(reviews)) for product_id, reviews in reviews_of.items()]
        return value

    def find_misfit(self, arguments: Mapping[str, object]) -> InvalidArgument | None:
        """Returns the error for the first argument that no request can carry; None if all of them fit."""
        try:
            self._request(**arguments)
        except InvalidArgument as error:
            return error
        return None

    @property
    def position(self) -> tuple[str, Callable[[object], int]]:
        """The parameter with the id after which a listing begins, and a function that reads this id from a row."""
        after, *_ = self._names
        [row] = get_args(self.answer)
        name = after.removeprefix("after_")
        return after, attrgetter(name if name in row.__struct_fields__ else "id")


def methods_of(service: Service[object]) -> Iterator[PortMethod[..., object]]:
    for call in service.calls:
        # Not every call is a method of the port: only gRPC streams a document in sections.
        if function := getattr(service.port, call.port, None):
            yield PortMethod(function, call)


def bare(kind: Kind) -> Kind:
    """Returns a type without annotations and without None."""
    if hasattr(kind, "__metadata__"):
        return bare(get_args(kind)[0])
    options = [option for option in get_args(kind) if option is not type(None)]
    return bare(options[0]) if is_optional(kind) else kind


def list_of(kind: Kind) -> Kind:
    return cast(Kind, GenericAlias(list, kind))


def is_optional(kind: object) -> bool:
    """Returns whether None is a value of a type."""
    return type(None) in get_args(kind)


def is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _parameters(function: Callable[..., object], hints: Mapping[str, Kind]) -> Iterator[tuple[str, Kind, object, bool]]:
    _, *parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            [fields] = get_args(hints[parameter.name])
            for name, kind in get_type_hints(fields).items():
                yield name, kind, None, True
        else:
            is_named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            yield parameter.name, hints[parameter.name], parameter.default, is_named
