"""Draws and corrupts inputs to surfaces, in the same way for the same seed."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from mesh.errors import InputError

T = TypeVar("T")

BATCH = 100
"""Number of inputs to draw at a time."""
CANARY = "marker-of-a-person"
"""Marks personal data, which logs must not contain. It is part of the names, addresses and tokens in inputs."""
PERSONAL = {
    "email": f"{CANARY}@example.com",
    "paymentToken": f"tok_{CANARY}",
    **dict.fromkeys(("name", "recipient", "street", "city", "password"), f"A {CANARY}"),
}
"""Values that inputs sometimes have in fields with these names, spelled as in GraphQL."""

ODD: Sequence[Any] = (
    *(None, True, -1, 0, 0.5, 2**63, 1e308, float("nan"), "", "x", "\x1b]0;x\a", "x" * 1_000, [], {}, [None], {"x": 1}),
)
"""Values that may replace any value in a document."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input to a surface.

    Attributes:
        way: How the input is sent, one of `fuzz.wire.WAYS`; for the harness, the file that it replaces.
        data: The bytes on the connection, in the datagram, or in the harness's file.
    """

    way: str
    data: bytes


def keep(one: Input, file: Path, **about: str) -> None:
    """Writes an input for `read_kept`; bytes are written as Latin-1."""
    file.parent.mkdir(parents=True, exist_ok=True)
    document = {**about, "way": one.way, "data": one.data.decode("latin-1")}
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def read_kept(file: Path) -> tuple[Input, str, str]:
    """Returns a kept input, its place and its surface. Raises InputError if the file is unreadable or no kept input."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return Input(str(kept["way"]), kept["data"].encode("latin-1")), str(kept["place"]), str(kept["surface"])
    except OSError as error:
        raise InputError(f"again={file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"again={file} is not an input that `make fuzz` has kept") from error


def draw_from(strategy: SearchStrategy[T], seed: str) -> Iterator[T]:
    """Draws from a strategy endlessly."""
    for batch in itertools.count():
        yield from _batch(strategy, f"{seed}/{batch}")


def _batch(strategy: SearchStrategy[T], seed: str) -> list[T]:
    cases: list[T] = []

    @hypothesis.seed(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]))
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def note(case: T) -> None:
        cases.append(case)

    note()
    return cases


def mutate(chance: random.Random, valid: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """Returns a valid input after one to four changes; words are sometimes inserted."""
    changed = bytearray(chance.choice(valid))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(7):
            case 0:
                changed[at : at + 1] = chance.randbytes(1)
            case 1:
                changed[at:at] = chance.randbytes(chance.randint(1, 8))
            case 2:
                del changed[at : at + chance.randint(1, 40)]
            case 3:
                del changed[at:]
            case 4:
                changed[at:at] = changed[at : at + chance.randint(1, 60)] * chance.choice((1, 2, 50))
            case 5 if words:
                changed[at : at + chance.choice((0, 0, 8))] = chance.choice(words)
            case _:
                other = chance.choice(valid)
                changed[at:] = other[chance.randrange(len(other) + 1) :]
    return bytes(changed)


def odd(chance: random.Random, document: Any) -> Any:
    """Returns a document with one value changed, removed or duplicated."""
    document = copy.deepcopy(document)
    at = document
    while True:
        if not isinstance(at, dict | list) or not at:
            return chance.choice(ODD)
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = chance.choice(keys)
        inner = at[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
            at = inner
            continue
        match chance.randrange(4):
            case 0:
                del at[key]
            case 1 if isinstance(at, list):
                at.append(inner)
            case _:
                at[key] = chance.choice(ODD)
        return document


def with_spoilt(requests: Iterator[Input], seed: str, times: int = 4) -> Iterator[Input]:
    """Yields HTTP/1.1 requests, each followed by copies with a changed value in the body or a changed target."""
    chance = random.Random(seed)
    for one in requests:
        yield one
        for _ in range(times):
            yield Input(one.way, _spoilt(chance, one.data))


def _spoilt(chance: random.Random, request: bytes) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    if not body or chance.random() < 0.2:
        method, target, rest = head.split(b" ", 2)
        at = chance.randrange(1, len(target) + 1)
        odd_part = quote(str(chance.choice(ODD))[:200], safe="/?=&%").encode()
        target = target[:at] + odd_part + target[at + chance.choice((0, 1, 8)) :]
        return b" ".join((method, target, rest)) + b"\r\n\r\n" + body
    try:
        spoilt = json.dumps(odd(chance, json.loads(body))).encode()
    except (ValueError, RecursionError):
        spoilt = mutate(chance, [body])
    before, _, length = head.rpartition(b"content-length: ")
    assert int(length) == len(body)
    return before + b"content-length: %d\r\n\r\n" % len(spoilt) + spoilt
