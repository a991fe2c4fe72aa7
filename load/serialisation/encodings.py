"""How an answer becomes bytes and is read again, in each encoding that Python has here.

build: the answer → what the library encodes; encode: → bytes; decode: → what the library decodes; read: → the answer.
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
from serialisation.messages import PROTOBUF, THRIFT, Messages
from serialisation.values import KINDS

Parts = list[bytes]
"""The bodies of an answer: one, or one for each method that its journey asks."""
Function = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """One journey's answer in one encoding.

    Attributes:
        encode: Makes bytes of what `build` made.
        decode: Makes of bytes what `read` reads.
        build: Makes of the answer what the library encodes; None if that is the answer itself.
        read: Makes the answer of what the library decoded; None if that is the answer itself.
    """

    encode: Callable[[Any], Parts]
    decode: Callable[[Parts], Any]
    build: Function | None = None
    read: Function | None = None

    def written(self, answer: Any) -> Parts:
        """The bytes of an answer."""
        return self.encode(self.build(answer) if self.build else answer)

    def answer(self, parts: Parts) -> Any:
        """The answer in the bytes."""
        decoded = self.decode(parts)
        return self.read(decoded) if self.read else decoded


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding, as one library does it.

    Attributes:
        name: What the bytes are, which both languages have in common.
        library: What makes them.
        codec: The codec of a journey's answer.
    """

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
"""Python's encodings. Thrift's compact protocol is the one in C, its TJSON is Python."""

OF_GO: Mapping[str, str] = {
    "json": "encoding/json",
    "protobuf": "protobuf-go",
    "graphql": "encoding/json",
    "thrift-compact": "thrift",
    "thrift-json": "thrift",
}
"""Go's encodings, and what makes them."""


def encoded(journey: str, answer: Any) -> dict[str, Parts]:
    """An answer's bytes in every encoding that Go has, for Go to decode.

    Args:
        journey: Name of the journey.
        answer: Its answer.
    """
    made: dict[str, Parts] = {}
    for encoding in ENCODINGS:
        if encoding.name not in made:
            made[encoding.name] = encoding.codec(journey).written(answer)
    return made
