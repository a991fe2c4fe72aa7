"""Converts between messages and the ports' arguments and results; untyped, because every call has different types.

The converting functions are generated from the contract and the ports (`make stubs`). Walking the messages' fields
while the shop runs would take 1.5 times as long.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from shop.contract.calls import Call, Service
from shop.errors import InvalidArgument

Q = ParamSpec("Q")
R = TypeVar("R")


class Codec(NamedTuple, Generic[Q, R]):
    """How a call's messages are made and read: `Q` are its arguments, `R` is its result.

    Attributes:
        request_class: Class of the request; None for Thrift.
        answer_class: Class of the answer, or of a part of a stream; None for Thrift.
        call: Calls the use case that is its first argument, with the arguments that a request holds.
        answer: Makes an answer message from a value; None where Thrift returns nothing.
        value: Returns the value of an answer; an iterator of rows for a part of a stream of rows.
        moved: Paths of the fields whose names differ from those of their arguments.
    """

    request_class: Any
    answer_class: Any
    request: Callable[Q, Any]
    call: Callable[[Any, Any], Any]
    answer: Any
    value: Callable[[Any], R]
    moved: Mapping[str, str]

    @property
    def rows(self) -> Callable[[Any], Iterable[R]]:
        """The function `value`, with its type for a part of a stream of rows."""
        return cast(Any, self.value)  # type: ignore[no-any-return]


def protobuf_codec(call: Call[Q, R]) -> Codec[Q, R]:
    return Codec(*_rows("protobuf", call)[call.name])


def thrift_codec(call: Call[Q, R]) -> Codec[Q, R] | None:
    """Returns the codec for a call's Thrift structs; None if Thrift does not have the call."""
    row = _rows("thrift", call).get(call.name)
    return None if row is None else Codec(*row)


def thrift_stubs(service: Service[object]) -> ModuleType:
    """Returns the module that is generated from the Thrift contract for a service."""
    return importlib.import_module(f"shop.stubs.thrift.{service.full_name.rpartition('.')[2]}")


def _rows(protocol: str, call: Call[Q, R]) -> Any:
    return importlib.import_module(f"shop.stubs.converters.{protocol}.{call.service}").CALLS


def requests(codec: Codec[Q, R]) -> Callable[Q, Any]:
    """Returns a function that makes protobuf requests from the arguments of a port's method.

    The returned function raises `InvalidArgument` with the name of the first field whose number has too many bits, or
    whose text has a lone surrogate.
    """
    make = codec.request

    def request(*args: Q.args, **kwargs: Q.kwargs) -> Any:
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            arguments = inspect.signature(make).bind(*args, **kwargs).arguments
            for at in _misfits(codec, arguments):
                raise InvalidArgument(f"{at} is out of range", field=at) from error
            raise

    return request


def _misfits(codec: Codec[Q, R], arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names of the request's fields that arguments do not fit."""
    for name, value in arguments.items():
        fields, place = codec.request_class.DESCRIPTOR.fields_by_name, codec.moved.get(name, name)
        *outer, leaf = place.split(".")
        for holder in outer:
            fields = fields[holder].message_type.fields_by_name
        yield from _misfits_of(fields[leaf], value, place)


def _misfits_of(field: FieldDescriptor, value: Any, at: str) -> Iterator[str]:
    if field.message_type is None:
        assert field.containing_type is not None
        try:
            GetMessageClass(field.containing_type)(**{field.name: value})
        except ValueError:
            yield at
    elif value is not None:
        for index, each in enumerate(value) if field.is_repeated else ((None, value),):
            place = at if index is None else f"{at}[{index}]"
            for inner in field.message_type.fields:
                yield from _misfits_of(inner, getattr(each, inner.name, None), f"{place}.{inner.name}")
