"""JSON in pieces: errors in some of them, keys in snake_case, and documents that are cut off."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

import msgspec

from hops.errors import MalformedTraceError
from hops.traces.span import Span

T = TypeVar("T")


class Faults:
    """Errors in some of the pieces of an input, which do not keep the other pieces from being read."""

    def __init__(self, pieces: str) -> None:
        self._pieces = pieces
        self._first: MalformedTraceError | None = None
        self._bad = 0

    def add(self, error: MalformedTraceError) -> None:
        """Records the error in one piece."""
        self._first = self._first or error
        self._bad += 1

    def tell(self, of: int) -> None:
        """Raises the first error, if there was any; the message says how many more of all pieces failed."""
        if self._first is None:
            return
        others = ""
        if self._bad > 1:
            others = f"; {self._bad - 1:,} more of {of:,} {self._pieces} could not be read"
        elif of > 1:
            others = f"; the other {of - 1:,} {self._pieces} were read"
        raise MalformedTraceError(f"{self._first}{others}") from self._first


def each(pieces: Iterable[T], read: Callable[[T], Iterable[list[Span]]], named: str) -> Iterator[list[Span]]:
    """Reads the spans of every readable piece; at the end, raises the first error."""
    faults, count = Faults(named), 0
    for piece in pieces:
        count += 1
        try:
            yield from read(piece)
        except MalformedTraceError as error:
            faults.add(error)
    faults.tell(count)


def locate(pieces: list[msgspec.Raw], where: str) -> Iterator[tuple[msgspec.Raw, str]]:
    """Adds its place to each element of a list."""
    return ((raw, f"{where}[{index}]") for index, raw in enumerate(pieces))


def camel_case(text: msgspec.Raw | memoryview | bytes) -> bytes | None:
    """Converts keys in snake_case, as protobuf names them, to camelCase; None if there is no such key."""
    renamed, keys = _SNAKE_CASE.subn(_camel, memoryview(text))
    return renamed if keys else None


def _camel(key: re.Match[bytes]) -> bytes:
    first, *others = key[1].split(b"_")
    return b'"%b"' % (first + b"".join(map(bytes.capitalize, others)))


_SNAKE_CASE = re.compile(rb'"([a-z][a-z0-9]*(?:_[a-z0-9]+)+)"(?=\s*:)')
_BEGIN_OF_LIST = re.compile(r'(?:\s*\{\s*"(?P<name>\w+)"\s*:)*\s*\[\s*')
_KEY = re.compile(r'\s*"(?P<name>\w+)"\s*:\s*')
_BETWEEN = re.compile(r"\s*,\s*")
_INNER = {"resourceSpans": "scopeSpans", "batches": "scopeSpans", "scopeSpans": "spans"}
"""The list inside each of OTLP's lists, by name: a document that is cut off is ended in the innermost list."""
_DECODER = json.JSONDecoder()


def ended_early(text: bytes | memoryview) -> bytes | None:
    """Completes a document that is cut off or broken: ends it after the last whole element of its list.

    In OTLP this is the innermost list, the list of spans, because there may be a single component. None if there is no
    whole element.

    Args:
        text: A list, or objects that begin with a list, in UTF-8.
    """
    document = codecs.getincrementaldecoder("utf-8")("ignore").decode(text)
    begin = _BEGIN_OF_LIST.match(document)
    if begin is None:
        return None
    ended = _list_ended(document, begin.end(), begin["name"] or "")
    return None if ended is None else f"{document[: ended[0]]}{ended[1]}{'}' * begin[0].count('{')}".encode()


def _list_ended(document: str, at: int, name: str) -> tuple[int, str] | None:
    """Finds the character after which a list can be ended, and the text that ends it; `at` is its first element."""
    end = None
    with suppress(ValueError, RecursionError):
        while True:
            _, end = _DECODER.raw_decode(document, at)
            between = _BETWEEN.match(document, end)
            if between is None:
                return end, "]"
            at = between.end()
    inner = _object_ended(document, at, _INNER[name]) if name in _INNER else None
    if inner is not None:
        return inner[0], f"{inner[1]}]"
    return None if end is None else (end, "]")


def _object_ended(document: str, at: int, wanted: str) -> tuple[int, str] | None:
    """Finds where to end an object cut off inside one of its lists; None if the list's owner comes after the list."""
    names = set()
    at += document[at : at + 1] == "{"
    with suppress(ValueError, RecursionError):
        while key := _KEY.match(document, at):
            names.add(key["name"])
            if key["name"] == wanted and document[key.end() : key.end() + 1] == "[":
                if wanted == "scopeSpans" and "resource" not in names:
                    return None
                first = _BEGIN_OF_LIST.match(document, key.end())
                ended = None if first is None else _list_ended(document, first.end(), wanted)
                return None if ended is None else (ended[0], f"{ended[1]}}}")
            _, end = _DECODER.raw_decode(document, key.end())
            between = _BETWEEN.match(document, end)
            if between is None:
                break
            at = between.end()
    return None
