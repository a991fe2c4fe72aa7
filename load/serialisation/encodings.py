"""Encodes and decodes answers in each encoding that the Python half of the bench supports.

build: answer → the library's objects; encode: → bytes; decode: → the library's objects; read: → answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import orjson
from thrift.protocol.TCompactProtocol import TCompactProtocolAcceleratedFactory
from thrift.protocol.TJSONProtocol import TJSONProtocolFactory
from thrift.TSerialization import deserialize, serialize

from serialisation import graphql
from serialisation.answer_types import KINDS
from serialisation.messages import PROTOBUF, THRIFT, Messages

Parts = list[bytes]
"""The bodies of an answer: one for each method that the journey calls."""
Function = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """A codec for a journey's answer; without `build` or `read`, the library takes or gives the answer itself."""

    encode: Callable[[Any], Parts]
    decode: Callable[[Parts], Any]
    build: Function | None = None
    read: Function | None = None

    def write(self, answer: Any) -> Parts:
        return self.encode(self.build(answer) if self.build else answer)

    def answer(self, parts: Parts) -> Any:
        decoded = self.decode(parts)
        return self.read(decoded) if self.read else decoded


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding as a library implements it; the name is the same in both languages, and `codec` takes a journey."""

    name: str
    library: str
    codec: Callable[[str], Codec]


def _orjson(journey: str) -> Codec:
    kind = KINDS[journey]
    return Codec(
        encode=lambda plain: [orjson.dumps(plain)],
        decode=lambda parts: orjson.loads(parts[0]),
        build=msgspec.to_builtins,
        read=lambda plain: msgspec.convert(plain, kind),
    )


def _msgspec(journey: str) -> Codec:
    encode = msgspec.json.Encoder().encode
    decode: Function = msgspec.json.Decoder(KINDS[journey]).decode
    return Codec(encode=lambda answer: [encode(answer)], decode=lambda parts: decode(parts[0]))


def _graphql(journey: str) -> Codec:
    return Codec(
        encode=lambda document: [orjson.dumps(document)],
        decode=lambda parts: orjson.loads(parts[0]),
        build=graphql.build(journey),
        read=graphql.read(journey),
    )


def _protobuf(journey: str) -> Codec:
    messages = Messages(PROTOBUF)
    types = messages.types(journey)
    return Codec(
        encode=lambda built: [message.SerializeToString() for message in built],
        decode=lambda parts: [kind.FromString(part) for kind, part in zip(types, parts, strict=True)],
        build=messages.build(journey),
        read=messages.read(journey),
    )


def _thrift(factory: Any, journey: str) -> Codec:
    messages = Messages(THRIFT)
    types = messages.types(journey)
    return Codec(
        encode=lambda built: [serialize(message, factory) for message in built],
        decode=lambda parts: [deserialize(kind(), part, factory) for kind, part in zip(types, parts, strict=True)],
        build=messages.build(journey),
        read=messages.read(journey),
    )


ENCODINGS: Sequence[Encoding] = (
    Encoding("json", "orjson", _orjson),
    Encoding("json", "msgspec", _msgspec),
    Encoding("protobuf", "upb", _protobuf),
    Encoding("graphql", "orjson", _graphql),
    Encoding("thrift-compact", "thrift", partial(_thrift, TCompactProtocolAcceleratedFactory(fallback=False))),
    Encoding("thrift-json", "thrift", partial(_thrift, TJSONProtocolFactory())),
)
"""Python's encodings. Thrift's compact protocol is implemented in C, and its JSON protocol in Python."""

OF_GO: Mapping[str, str] = {
    "json": "encoding/json",
    "protobuf": "protobuf-go",
    "graphql": "encoding/json",
    "thrift-compact": "thrift",
    "thrift-json": "thrift",
}
"""Go's encodings, and their libraries."""


def encode_for_go(journey: str, answer: Any) -> dict[str, Parts]:
    """Encodes an answer in every encoding that the Go half supports, for Go to decode."""
    made: dict[str, Parts] = {}
    for encoding in ENCODINGS:
        if encoding.name not in made:
            made[encoding.name] = encoding.codec(journey).write(answer)
    return made
