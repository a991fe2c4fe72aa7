"""JSON documents of a file: one per line, or in sequence over many lines, as `jq .` and `cat *.json` write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from hops.errors import MalformedTraceError
from hops.sources.decode_json import Faults, ended_early
from hops.sources.recognise import Batches, read_json_value
from hops.traces.span import Span
from hops.traces.typed_json import NotJsonError

BLANKS = b" \t\r\n"
FREED_EVERY = 200
"""Number of batches after which a mapped file frees its memory."""
Read = Iterator[tuple[str, list[Span]]]
_BLANK = re.compile(rb"[ \t\r\n]*")
_GLUED = re.compile(rb"[}\]][ \t]*(?=[{\[])")
"""The end of a document and the start of the next on one line: the first of two files had no final newline."""
_OPEN = (b",", b":", b"[", b"{")
"""Ends of a line in the middle of a document."""


def split_documents(lines: Iterable[bytes], *, by_line: bool) -> Iterator[tuple[int, bytes]]:
    """Splits a file into documents, each with the number of its first line; a broken document does not hide the rest.

    A document starts at a line that starts with a bracket. Without `by_line`, such a line may also be an element of a
    list: then the line before is not indented either, and ends in the middle of a document.
    """
    text: list[bytes] = []
    start, before = 1, b""
    for number, line in enumerate(lines, 1):
        glued = None if by_line else _GLUED.match(line)
        if glued is not None:
            yield start, b"".join((*text, glued[0]))
            text, line = [], line[glued.end() :]
        elif text and line[:1] in (b"{", b"[") and (by_line or _is_complete(before)):
            yield start, b"".join(text)
            text = []
        if text or line.strip(BLANKS):
            start = start if text else number
            text.append(line)
            before = line.rstrip(BLANKS) or before
    if text:
        yield start, b"".join(text)


def read_documents(documents: Iterable[tuple[int, bytes]], where: str, *, by_line: bool) -> Read:
    """Reads the spans of every readable document, each with its format.

    Args:
        documents: Documents as returned by `split_documents`; one text may contain several documents.
        by_line: As in `split_documents`. If true, nothing is read from a broken document.

    Raises:
        MalformedTraceError: A document cannot be read; the message names the line of the first such document, and says
            how many there are. All other documents were read before.
    """
    faults, count = Faults("lines" if by_line else "documents"), 0
    for line, text in documents:
        view, at, end = memoryview(text), _after_blanks(text, 0), len(text)
        while at < end:
            place = f"{where}:{line}"
            try:
                yield from in_batches(*read_json_value(view[at:end], place))
            except NotJsonError as error:
                if error.follows_at:
                    end = at + error.follows_at
                    continue
                if by_line:
                    faults.add(error)
                else:
                    yield from _noting(faults, read_beginning(view[at:end], place, error))
            except MalformedTraceError as error:
                faults.add(error)
            count += 1
            following = _after_blanks(text, end)
            line += text.count(b"\n", at, following)
            at, end = following, len(text)
    faults.tell(count)


def _noting(faults: Faults, spans: Read) -> Read:
    try:
        yield from spans
    except MalformedTraceError as error:
        faults.add(error)


def read_beginning(text: memoryview, where: str, fault: NotJsonError, free: Callable[[], None] | None = None) -> Read:
    """Reads the spans in the intact beginning of a broken document, then raises an error."""
    whole = ended_early(text)
    if whole is None:
        raise fault
    yield from in_batches(*read_json_value(whole, where), free)
    raise MalformedTraceError(f"{fault}; everything before byte {len(whole):,} was read") from fault


def in_batches(kind: str, batches: Batches, free: Callable[[], None] | None = None) -> Read:
    """Adds the format to each batch; `free` frees the memory of everything read so far, and is called now and then."""
    for number, batch in enumerate(batches):
        if free is not None and not number % FREED_EVERY:
            free()
        yield kind, batch


def _is_complete(line: bytes) -> bool:
    return line[:1] in (b" ", b"\t") or not line.endswith(_OPEN)


def _after_blanks(text: bytes, at: int) -> int:
    blanks = _BLANK.match(text, at)
    assert blanks is not None
    return blanks.end()
