"""Compressed input: gzip and Zstandard, recognised by their first bytes, and limited."""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import zlib
from functools import cache
from importlib import import_module
from typing import IO, Any, cast

from hops.errors import MalformedTraceError

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MOST_BYTES = 16 * 2**30
"""Input that decompresses to more is refused: it would fill the disk."""
_PIECE = 1 << 20


def opened(file: IO[bytes], head: bytes, where: str) -> tuple[IO[bytes], MalformedTraceError | None]:
    """The file, decompressed into a temporary one if it is compressed.

    Args:
        file: Seekable file, at its start.
        head: Its first bytes.
        where: Name of the input, for messages.

    Returns:
        The plain file; and what is wrong if the compressed bytes are damaged or cut off, when the plain ones end there.

    Raises:
        MalformedTraceError: There is too much of it.
    """
    if head.startswith(GZIP):
        return _spooled(cast("IO[bytes]", gzip.GzipFile(fileobj=file)), where)
    if head.startswith(ZSTD):
        return _spooled(_zstd_reader(file), where)
    return file, None


def spooled(stream: IO[bytes], where: str) -> IO[bytes]:
    """All bytes of a stream in a temporary file, at its start.

    Raises:
        MalformedTraceError: The bytes are more than `MOST_BYTES`.
    """
    return _spooled(stream, where)[0]


def _spooled(stream: IO[bytes], where: str) -> tuple[IO[bytes], MalformedTraceError | None]:
    scratch = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    # Whatever decompresses gives with `read1` all that it has before it says that the rest is damaged.
    read = getattr(stream, "read1", stream.read)
    size, fault = 0, None
    try:
        while piece := read(_PIECE):
            size += len(piece)
            if size > MOST_BYTES:
                raise MalformedTraceError(
                    f"{where}: more than {MOST_BYTES / 2**30:.0f} GiB; split it, or compress it less"
                )
            scratch.write(piece)
    except (EOFError, gzip.BadGzipFile, zlib.error, _zstd_error()) as error:
        fault = MalformedTraceError(f"{where}: compressed, but damaged or cut off after {size:,} bytes: {error}")
    except BaseException:
        scratch.close()
        raise
    scratch.seek(0)
    return scratch, fault


def unzstd(data: bytes | memoryview, where: str) -> bytes:
    """One compressed message.

    Raises:
        MalformedTraceError: The bytes are damaged.
    """
    try:
        return _zstd_reader(io.BytesIO(data)).read(MOST_BYTES)
    except (EOFError, _zstd_error()) as error:
        raise MalformedTraceError(f"{where}: Zstandard, but damaged: {error}") from error


def _zstd_reader(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", _zstd().ZstdFile(file))


def _zstd_error() -> type[Exception]:
    return cast("type[Exception]", _zstd().ZstdError)


@cache
def _zstd() -> Any:
    """The standard library's module from Python 3.14 on, before that the same as a package."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
