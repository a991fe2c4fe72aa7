"""The half of the bench that is done in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isal import isal_zlib

from serialisation.encodings import ENCODINGS, Parts
from serialisation.rounds import BUILD, DECODE, ENCODE, GUNZIP, GZIP, READ, Cell, Lap, Subject
from shop.platform.http.compression import gzip

_GZIP_CONTAINER = 31


def cells(answers: Mapping[str, Any]) -> Iterator[tuple[Subject, Parts, list[Cell]]]:
    """What Python can measure, and the bytes that it makes of each answer.

    Args:
        answers: The answer of each journey.
    """
    for journey, answer in answers.items():
        for encoding in ENCODINGS:
            codec = encoding.codec(journey)
            built = codec.build(answer) if codec.build else answer
            parts = codec.encode(built)
            packed = packed_parts(parts)
            subject = Subject("Python", encoding.library, encoding.name, journey)
            laps = {
                ENCODE: Lap(codec.encode, built),
                GZIP: Lap(packed_parts, parts),
                GUNZIP: Lap(unpacked_parts, packed),
                DECODE: Lap(codec.decode, parts),
            }
            if codec.build:
                laps[BUILD] = Lap(codec.build, answer)
            if codec.read:
                laps[READ] = Lap(codec.read, codec.decode(parts))
            yield subject, parts, [Cell(subject, operation, lap) for operation, lap in laps.items()]


def packed_parts(parts: Parts) -> Parts:
    """The bodies as the shop compresses them: gzip by ISA-L, level 1."""
    return [gzip(part) for part in parts]


def unpacked_parts(parts: Parts) -> Parts:
    """Compressed bodies as they were."""
    return [isal_zlib.decompress(part, _GZIP_CONTAINER) for part in parts]
