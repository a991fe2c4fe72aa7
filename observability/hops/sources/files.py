"""Traces from files, folders, patterns and standard input."""

from __future__ import annotations

import codecs
import glob
import mmap
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, cast

from hops.errors import MalformedTraceError, SourceError
from hops.sources.compressed import open_plain, spool
from hops.sources.json_sequence import BLANKS, in_batches, read_beginning, read_documents, split_documents
from hops.sources.recognise import BINARY, FORMATS, read_binary, read_json_value
from hops.traces.span import Span
from hops.traces.typed_json import NotJsonError

STDIN = "-"
PIPE_WAIT_S = 10
"""Maximum wait for the first bytes from a named pipe, seconds."""
_HEAD = 4096
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def paths_of(source: str) -> list[Path]:
    """Lists the files of a file, folder or pattern, but no hidden files; raises `SourceError` if there are none."""
    if not source:
        raise SourceError("a source is empty; for this folder, give .")
    path = Path(source)
    if path.is_dir():
        inside = sorted(one for one in path.rglob("*") if one.is_file() and not _is_hidden(one.relative_to(path)))
        if not inside:
            raise SourceError(f"{source}: this folder has no files")
        return inside
    if path.exists():
        return [path]
    matching = sorted(Path(one) for one in glob.glob(source, recursive=True) if Path(one).is_file())
    if not matching:
        raise SourceError(f"{source}: there is no such file or folder, and as a pattern it matches no file")
    return matching


def read_file(file: IO[bytes], where: str, forced: str = "") -> Iterator[tuple[str, list[Span]]]:
    """Reads the spans of one file in batches, each with its format.

    Args:
        forced: Format, one of `recognise.FORMATS`; empty to recognise the format.

    Raises:
        MalformedTraceError: The file is in no known format, or has an error; the message names the place.
    """
    with ExitStack() as scratch:
        for kind, spans in _read_plain(file, where, forced, scratch):
            if forced and kind != forced:
                raise MalformedTraceError(f"{where}: is {FORMATS[kind]}, but --format says {FORMATS[forced]}")
            yield kind, spans


def _read_plain(file: IO[bytes], where: str, forced: str, scratch: ExitStack) -> Iterator[tuple[str, list[Span]]]:
    plain, fault = open_plain(file, _peek(file), where)
    if plain is not file:
        scratch.enter_context(plain)
        if not _peek(plain):
            raise fault or MalformedTraceError(f"{where}: is empty after decompression")
    try:
        yield from _read_decompressed(plain, where, forced, scratch)
    except MalformedTraceError as error:
        if fault is None:
            raise
        raise MalformedTraceError(f"{fault}; {error}") from error
    if fault is not None:
        raise fault


def _read_decompressed(
    plain: IO[bytes], where: str, forced: str, scratch: ExitStack
) -> Iterator[tuple[str, list[Span]]]:
    if _peek(plain).startswith(_UTF_16):
        plain = scratch.enter_context(_utf_8(plain, where))
    head = _peek(plain)
    if head.startswith(codecs.BOM_UTF8):
        plain.seek(len(codecs.BOM_UTF8))
        head = head[len(codecs.BOM_UTF8) :]
    if not head:
        raise MalformedTraceError(f"{where}: is empty")
    if forced in BINARY or (not forced and head.lstrip(BLANKS)[:1] not in (b"{", b"[")):
        view, free = _map(plain)
        yield from in_batches(*read_binary(view, where, head, forced), free)
    else:
        yield from _read_json(plain, where)


def opened_file(path: str) -> IO[bytes]:
    """Opens a file, or stores everything from a pipe, so that it can be read twice.

    Raises:
        SourceError: The path is neither a file nor a pipe, or nothing writes to the pipe.
        MalformedTraceError: The pipe has more bytes than can be stored.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        return open(path, "rb")
    if not stat.S_ISFIFO(mode):
        raise SourceError(f"{path}: is neither a file nor a pipe")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        if not select.select([pipe], [], [], PIPE_WAIT_S)[0]:
            raise SourceError(f"{path}: nothing was written to this pipe for {PIPE_WAIT_S} s")
        os.set_blocking(pipe.fileno(), True)
        return spool(cast("IO[bytes]", pipe), path)


def open_stdin() -> IO[bytes]:
    """Stores standard input in a file, so that it can be read twice; raises `SourceError` if it is closed."""
    if sys.stdin is None:
        raise SourceError("standard input is closed")
    return spool(sys.stdin.buffer, "standard input")


def _read_json(file: IO[bytes], where: str) -> Iterator[tuple[str, list[Span]]]:
    """Reads one document, or several: one per line, or in sequence."""
    began = file.tell()
    first = file.readline()
    while first and not first.strip():
        first = file.readline()
    if file.read(_HEAD).strip() and _is_whole(first):
        file.seek(began)
        yield from read_documents(split_documents(file, by_line=True), where, by_line=True)
        return
    file.seek(began)
    view, free = _map(file)
    text = view[began:]
    text = text[len(text[:_HEAD]) - len(bytes(text[:_HEAD]).lstrip(BLANKS)) :]
    try:
        kind, batches = read_json_value(text, where)
    except MalformedTraceError as error:
        file.seek(began)
        documents = split_documents(file, by_line=False)
        first_two = list(islice(documents, 2))
        is_whole = isinstance(error, NotJsonError) and error.follows_at
        if is_whole or len(first_two) > 1:
            yield from read_documents(chain(first_two, documents), where, by_line=False)
        elif isinstance(error, NotJsonError):
            yield from read_beginning(text, where, error, free)
        else:
            raise
    else:
        yield from in_batches(kind, batches, free)


def _map(file: IO[bytes]) -> tuple[memoryview, Callable[[], None]]:
    """Maps the whole file until nothing refers to the map; also returns a function that frees the pages read so far."""
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return memoryview(data), partial(data.madvise, mmap.MADV_DONTNEED)


def _is_whole(line: bytes) -> bool:
    import msgspec

    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line.rstrip(BLANKS).endswith((b"}", b"]")) and line.count(b"{") > 1
    return True


def _utf_8(file: IO[bytes], where: str) -> IO[bytes]:
    """Converts a UTF-16 file, such as some shells write for redirected output, to UTF-8."""
    try:
        text = codecs.getreader("utf-16")(file)
        return spool(_Encoded(text), where)  # type: ignore[arg-type]
    except UnicodeDecodeError as error:
        raise MalformedTraceError(f"{where}: begins as UTF-16, but is not valid UTF-16: {error}") from error


class _Encoded:
    def __init__(self, text: codecs.StreamReader) -> None:
        self._text = text

    def read(self, size: int) -> bytes:
        return self._text.read(size).encode()


def _peek(file: IO[bytes]) -> bytes:
    head = file.read(_HEAD)
    file.seek(0)
    return head


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
