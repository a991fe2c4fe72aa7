"""Compressed input: gzip and Zstandard, recognised by their first bytes, with size limits."""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import zlib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import IO, Any, cast

from hops.errors import MalformedTraceError

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MAX_BYTES = 16 * 2**30
"""Larger input is refused, plain or decompressed: it would fill the disk."""
MAX_RATIO = 100
"""Maximum ratio of decompressed to compressed bytes: traces reach 6 to 35, a decompression bomb 1,000 or more."""
RATIO_CHECKED_FROM = 64 * 2**20
"""Decompressed size in bytes from which the ratio counts: a small file of repetitions may exceed the ratio."""
_PIECE = 1 << 20


def open_plain(file: IO[bytes], head: bytes, where: str) -> tuple[IO[bytes], MalformedTraceError | None]:
    """Decompresses a file into a temporary file, if it is compressed.

    Returns:
        The plain file; and an error to raise at its end, if the compressed bytes are damaged or cut off.

    Raises:
        MalformedTraceError: The plain bytes exceed `MAX_BYTES`, or the maximum ratio.
    """
    if head.startswith(GZIP):
        return _spool(cast("IO[bytes]", gzip.GzipFile(fileobj=file)), where, file)
    if head.startswith(ZSTD):
        return _spool(_zstd().ZstdFile(file), where, file)
    return file, None


def spool(stream: IO[bytes], where: str) -> IO[bytes]:
    """Copies a stream into a temporary file, and rewinds the file; raises `MalformedTraceError` above `MAX_BYTES`."""
    return _spool(stream, where)[0]


def _spool(
    stream: IO[bytes], where: str, compressed: IO[bytes] | None = None
) -> tuple[IO[bytes], MalformedTraceError | None]:
    scratch = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    fault = None
    try:
        for piece in _limit(stream, where, compressed):
            scratch.write(piece)
    except (EOFError, gzip.BadGzipFile, zlib.error, _zstd().ZstdError) as error:
        size = scratch.tell()
        fault = MalformedTraceError(f"{where}: compressed, but damaged or cut off after {size:,} bytes: {error}")
    except BaseException:
        scratch.close()
        raise
    scratch.seek(0)
    return scratch, fault


def unzstd(data: bytes | memoryview, where: str) -> bytes:
    """Decompresses one message; raises `MalformedTraceError` if it is damaged or too large."""
    compressed = io.BytesIO(data)
    try:
        return b"".join(_limit(_zstd().ZstdFile(compressed), where, compressed))
    except (EOFError, _zstd().ZstdError) as error:
        raise MalformedTraceError(f"{where}: damaged Zstandard data: {error}") from error


def _limit(stream: IO[bytes], where: str, compressed: IO[bytes] | None) -> Iterator[bytes]:
    """Yields a stream in pieces until it exceeds a limit; `compressed` is the file that the stream decompresses."""
    # `read1` returns what a decompressor has decompressed, before an error in the rest is raised.
    read = getattr(stream, "read1", stream.read)
    size = 0
    while piece := read(_PIECE):
        size += len(piece)
        if size > MAX_BYTES:
            raise MalformedTraceError(f"{where}: more than {MAX_BYTES / 2**30:.0f} GiB; split it")
        if compressed is not None and size > max(RATIO_CHECKED_FROM, MAX_RATIO * compressed.tell()):
            raise MalformedTraceError(
                f"{where}: decompresses to more than {MAX_RATIO} times its size, as a decompression bomb does; "
                "if you trust it, decompress it yourself and pass the plain file"
            )
        yield piece


@cache
def _zstd() -> Any:
    """Imports the standard library's Zstandard module (Python 3.14), or its backport."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
