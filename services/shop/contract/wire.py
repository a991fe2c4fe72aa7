"""Converts between messages and what ports take and return, without types: each call has others.

The functions that convert are generated from the contract and the ports (`make stubs`); to walk the fields while the
shop runs takes half as long again.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from shop.contract.calls import Service
from shop.errors import InvalidArgument


class Codec(NamedTuple):
    """How a call's messages are made and read.

    Attributes:
        request_class: Class of the request; None for Thrift.
        answer_class: Class of the answer, or of a part of a stream; None for Thrift.
        request: Makes a request of the arguments of the port's method.
        call: Calls the use case, its first argument, with what a request says.
        answer: Makes an answer of a value; None where Thrift answers nothing.
        value: Returns the value of an answer; an iterator of rows for a part of a stream of rows.
        moved: Paths of the fields that are not called like the arguments that they carry.
    """

    request_class: Any
    answer_class: Any
    request: Callable[..., Any]
    call: Callable[[Any, Any], Any]
    answer: Any
    value: Callable[[Any], Any]
    moved: Mapping[str, str]


def protobuf_codecs(service: Service) -> dict[str, Codec]:
    """Returns how a service's messages are made and read, by the names of its calls."""
    return _codecs("protobuf", service)


def thrift_codecs(service: Service) -> dict[str, Codec]:
    """Returns how a service's Thrift structs are made and read, by the names of its calls."""
    return _codecs("thrift", service)


def thrift_stubs(service: Service) -> ModuleType:
    """Returns the module that is generated for a service from Thrift's contract."""
    return importlib.import_module(f"shop.stubs.thrift.{service.full_name.rpartition('.')[2]}")


def _codecs(protocol: str, service: Service) -> dict[str, Codec]:
    module = importlib.import_module(f"shop.stubs.converters.{protocol}.{service.name}")
    return {name: Codec(*row) for name, row in module.CALLS.items()}


def requests(codec: Codec) -> Callable[..., Any]:
    """Returns what makes protobuf requests of the arguments of a port's method.

    It raises `InvalidArgument` with the name of the first field whose number has too many bits, or that has a lone
    surrogate.
    """
    make = codec.request

    def request(*args: Any, **kwargs: Any) -> Any:
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            arguments = inspect.signature(make).bind(*args, **kwargs).arguments
            for at in _misfits(codec, arguments):
                raise InvalidArgument(f"{at} is out of range", field=at) from error
            raise

    return request


def _misfits(codec: Codec, arguments: Mapping[str, Any]) -> Iterator[str]:
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
