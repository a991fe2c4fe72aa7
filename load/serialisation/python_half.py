"""The Python half of the bench, which runs in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isal import isal_zlib

from serialisation.encodings import ENCODINGS, Parts
from serialisation.rounds import BUILD, DECODE, ENCODE, GUNZIP, GZIP, READ, Cell, Lap, Size, Subject
from shop.platform.http.compression import gzip

_GZIP_CONTAINER = 31


def cells(answers: Mapping[str, Any]) -> Iterator[tuple[Subject, Size, list[Cell]]]:
    """Yields the subjects that Python can measure, with each answer's size."""
    for journey, answer in answers.items():
        for encoding in ENCODINGS:
            codec = encoding.codec(journey)
            built = codec.build(answer) if codec.build else answer
            parts = codec.encode(built)
            packed = pack_parts(parts)
            subject = Subject("Python", encoding.library, encoding.name, journey)
            laps = {
                ENCODE: Lap(codec.encode, built),
                GZIP: Lap(pack_parts, parts),
                GUNZIP: Lap(unpack_parts, packed),
                DECODE: Lap(codec.decode, parts),
            }
            if codec.build:
                laps[BUILD] = Lap(codec.build, answer)
            if codec.read:
                laps[READ] = Lap(codec.read, codec.decode(parts))
            size = Size(sum(map(len, parts)), sum(map(len, packed)))
            yield subject, size, [Cell(subject, operation, lap) for operation, lap in laps.items()]


def pack_parts(parts: Parts) -> Parts:
    """Compresses bodies as the shop does: with ISA-L's gzip at level 1."""
    return [gzip(part) for part in parts]


def unpack_parts(parts: Parts) -> Parts:
    return [isal_zlib.decompress(part, _GZIP_CONTAINER) for part in parts]
