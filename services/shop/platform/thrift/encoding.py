"""Encodes Thrift messages as bytes, and decodes them, within limits.

The compact protocol uses Apache's C code; TJSON has no C code. Both refuse structs nested more than 64 deep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeVar, cast

from thrift.protocol.TCompactProtocol import TCompactProtocolAcceleratedFactory
from thrift.protocol.TJSONProtocol import TJSONProtocolFactory
from thrift.protocol.TProtocol import TProtocolBase, TProtocolFactory
from thrift.Thrift import TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

from shop.contract.signatures import EXPECTED
from shop.errors import InvalidArgument

MAX_ITEMS = 10_000
"""Maximum number of entries in a list or map: the compact protocol allocates room for all of them at once."""
MAX_ROWS = 10_000
"""Maximum number of rows in the answer of a method that streams over gRPC."""
MAX_ANSWER = 16 * 1024 * 1024
"""Maximum size of an answer that a client reads, in bytes; the same as over gRPC."""

COMPACT = TCompactProtocolAcceleratedFactory(MAX_ANSWER, MAX_ITEMS, fallback=False)
JSON = TJSONProtocolFactory()
CALL, REPLY, EXCEPTION = TMessageType.CALL, TMessageType.REPLY, TMessageType.EXCEPTION

_BITS: Mapping[object, int] = {TType.BYTE: 8, TType.I16: 16, TType.I32: 32, TType.I64: 64}
_EMPTY: Mapping[object, object] = MappingProxyType(
    {**dict.fromkeys(_BITS, 0), TType.BOOL: False, TType.DOUBLE: 0.0, TType.STRING: "", TType.LIST: (), TType.MAP: {}}
)


class Struct(Protocol):
    """A struct of the stubs; its spec has the number, type, name, entry type and default of each field."""

    thrift_spec: Sequence[tuple[int, int, str, Sequence[type], object] | None]

    def read(self, protocol: TProtocolBase, /) -> None:
        """Reads the fields."""

    def write(self, protocol: TProtocolBase, /) -> None:
        """Writes the fields."""


class Arguments(Struct, Protocol):
    """The arguments of a call, which a caller sends."""

    headers: Mapping[str, str]
    request: Struct


S = TypeVar("S", bound=Struct)


class _Ending(TMemoryBuffer):  # type: ignore[misc] # the library has no types
    """Bytes with an end: Apache's TJSON would wait forever for the end of a number that comes last."""

    def read(self, size: int) -> bytes:
        data: bytes = super().read(size)
        if not data and size:
            raise EOFError
        return data


class Undecodable(InvalidArgument):
    """Bytes that are not a message, so that there is no call to answer."""


def encode_message(encoding: TProtocolFactory, name: str, kind: int, sequence: int, struct: Struct) -> bytes:
    """Encodes a message of a kind, `CALL`, `REPLY` or `EXCEPTION`, as bytes, in `COMPACT` or `JSON`."""
    buffer = TMemoryBuffer()
    protocol = encoding.getProtocol(buffer)
    protocol.writeMessageBegin(name, kind, sequence)
    struct.write(protocol)
    protocol.writeMessageEnd()
    written: bytes = buffer.getvalue()
    return written


def open_message(encoding: TProtocolFactory, message: bytes) -> tuple[str, int, int, TProtocolBase]:
    """Returns a message's name, kind and number, and what reads the rest; raises `Undecodable` if it has no head."""
    protocol = encoding.getProtocol(_Ending(message))
    try:
        name, kind, sequence = protocol.readMessageBegin()
    except Exception as error:
        raise Undecodable("the bytes are not a Thrift message") from error
    return name, kind, sequence, protocol


def read_whole(arguments: Arguments, protocol: TProtocolBase) -> None:
    """Reads the arguments that a client sent; absent fields get their empty value, as in protobuf.

    Raises `InvalidArgument` if the bytes are not such arguments, or a field of the request does not fit its type.
    """
    try:
        arguments.read(protocol)
        _fill(arguments)
        complete(arguments.request)
    except InvalidArgument:
        raise
    except Exception as error:
        raise InvalidArgument("the request is not a message of this method's type") from error


def complete(struct: S, at: str = "") -> S:
    """Gives absent fields their empty value, and checks that the other fields fit their types.

    Raises `InvalidArgument` if a number has more bits than its field, or a text has a lone surrogate. The names of
    fields begin with the struct's place: "product.", "lines[2].".
    """
    for kind, name, of, value in _fill(struct):
        field = f"{at}{name}"
        if kind == TType.STRUCT:
            complete(cast(Struct, value), f"{field}.")
        elif kind == TType.LIST and of[0] == TType.STRUCT:
            for index, one in enumerate(cast("Sequence[Struct]", value)):
                complete(one, f"{field}[{index}].")
        elif not (_all_fit(value, of[0]) if kind == TType.LIST else _fits(value, kind)):
            raise InvalidArgument(f"{field} is out of range", field=field)
    return struct


def _fill(struct: Struct) -> list[tuple[int, str, Sequence[type], object]]:
    """Gives absent fields their empty value; returns type, name, entry type and value of each field.

    An absent `expected` stays absent: an empty one would be a condition.
    """
    filled = []
    for spec in struct.thrift_spec:
        if spec is None:
            continue
        _, kind, name, of, _ = spec
        value = getattr(struct, name)
        if value is None and name == EXPECTED:
            continue
        if value is None:
            value = of[0]() if kind == TType.STRUCT else _EMPTY[kind]
            setattr(struct, name, value)
        filled.append((kind, name, of, value))
    return filled


def _all_fit(values: object, kind: object) -> bool:
    return all(_fits(value, kind) for value in cast("Sequence[object]", values))


def _fits(value: object, kind: object) -> bool:
    if kind in _BITS:
        return cast(int, value).bit_length() < _BITS[kind]
    if kind == TType.STRING:
        try:
            cast(str, value).encode()
        except UnicodeEncodeError:
            return False
    return True
