"""Contents of files, read as sources read them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from hops.errors import MalformedTraceError
from hops.sources.files import read_file
from hops.traces.span import Span


@contextmanager
def _file_of(content: bytes | str) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.seek(0)
        yield file


def read(content: bytes | str, forced: str = "") -> tuple[set[str], list[Span]]:
    """Returns the formats of a file with this content, and all its spans."""
    with _file_of(content) as file:
        batches = list(read_file(file, "file", forced))
    return {kind for kind, _ in batches}, [span for _, batch in batches for span in batch]


def read_broken(content: bytes | str) -> tuple[str, list[Span]]:
    """Returns the message about a broken file, and the spans that were read from it."""
    spans: list[Span] = []
    with _file_of(content) as file, pytest.raises(MalformedTraceError) as error:
        spans.extend(span for _, batch in read_file(file, "file") for span in batch)
    return str(error.value), spans
