"""Rows of traces that do not fit in memory: from a file of OTLP JSON lines to `hops.parquet` and `calls.parquet`.

The file is read in chunks. Each chunk becomes a piece of both tables, which goes to disk at once. So only one chunk of
spans and budgets is in memory. At the end the pieces of each table are streamed into one file. Several processes make
the pieces if there are several cores, and enough traces to make it worth starting them.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import chain, count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO

import msgspec
import polars as pl

from hops.budget.parts import budgets_of
from hops.errors import MalformedTraceError, NotEnoughDataError
from hops.run.files import CALLS_FILE, HOPS_FILE
from hops.run.rows import calls_frame, hops_frame, write_parquet, write_whole
from hops.traces.otlp import read_spans
from hops.traces.span import Span, by_trace
from hops.traces.tree import Quality

CHUNK_BYTES = 8 * 1024 * 1024
FEW_CHUNKS = 4
"""Up to this many chunks, starting processes takes longer than it saves."""
_IDS_FILE = "ids.parquet"


class Made(msgspec.Struct):
    """Totals over the traces of a file; `gap_ns` is 0, or the code is wrong."""

    quality: Quality = msgspec.field(default_factory=Quality)
    budgets: int = 0
    gap_ns: int = 0

    def add(self, other: Made) -> None:
        """Adds the totals of other traces."""
        self.quality.add(other.quality)
        self.budgets += other.budgets
        self.gap_ns = max(self.gap_ns, other.gap_ns)


class _Chunk(msgspec.Struct):
    number: int
    first_line: int
    text: bytes


def write_rows(file: Path, folder: Path, *, processes: int | None = None, chunk_bytes: int = CHUNK_BYTES) -> Made:
    """Makes the hop budgets of all traces in a file, and writes their rows.

    Args:
        file: OTLP JSON, one document per line; each line has all spans of its traces.
        chunk_bytes: How much of the file a process reads at a time, rounded up to a whole line.

    Raises:
        MalformedTraceError: A line is not OTLP JSON, or traces have spans on several lines; the message names file and
            line.
        NotEnoughDataError: No trace has a root.
        OSError: The file cannot be read, or the disk is full.
    """
    made = Made()
    with file.open("rb") as lines:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pieces-", dir=folder) as scratch:
            make = partial(_make_piece, Path(scratch), file)
            for one in _in_order(make, _chunks(lines, chunk_bytes), processes or os.cpu_count() or 1):
                made.add(one)
            if not made.budgets:
                raise NotEnoughDataError(f"no trace with a root span in {file}")
            hops, calls, ids = (
                pl.scan_parquet(sorted(Path(scratch).glob(f"*-{name}"))) for name in (HOPS_FILE, CALLS_FILE, _IDS_FILE)
            )
            traces = ids.select(pl.col("trace_id").n_unique()).collect(engine="streaming").item()
            if traces < made.quality.traces:
                raise MalformedTraceError(
                    f"{file}: traces spread over several lines: {made.quality.traces - traces:,}; "
                    "put all spans of a trace on one line"
                )
            write_whole(folder / HOPS_FILE, hops.sink_parquet)
            write_whole(folder / CALLS_FILE, calls.sink_parquet)
    return made


def _chunks(lines: BinaryIO, size: int) -> Iterator[_Chunk]:
    line = 1
    for number in count():
        text = lines.read(size) + lines.readline()
        if not text:
            return
        yield _Chunk(number, line, text)
        line += text.count(b"\n")


def _in_order(make: Callable[[_Chunk], Made], chunks: Iterator[_Chunk], processes: int) -> Iterator[Made]:
    first = list(islice(chunks, FEW_CHUNKS + 1))
    if processes == 1 or len(first) <= FEW_CHUNKS:
        yield from map(make, chain(first, chunks))
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        under_way: deque[Future[Made]] = deque()
        for chunk in chain(first, chunks):
            under_way.append(pool.submit(make, chunk))
            # Waiting chunks are in memory, so there are only as many as keep every process busy.
            if len(under_way) > 2 * processes:
                yield under_way.popleft().result()
        for future in under_way:
            yield future.result()


def _make_piece(folder: Path, file: Path, chunk: _Chunk) -> Made:
    traces: list[list[Span]] = []
    for line, text in enumerate(chunk.text.splitlines(), chunk.first_line):
        if text.strip():
            traces += by_trace(read_spans(text, where=f"{file}:{line}")).values()
    budgets, quality = budgets_of(traces)
    # With the ids of traces whose root may be on another line, and which have no rows.
    ids = pl.DataFrame({"trace_id": [spans[0].trace_id for spans in traces]}, schema={"trace_id": pl.String})
    for name, frame in ((HOPS_FILE, hops_frame(budgets)), (CALLS_FILE, calls_frame(budgets)), (_IDS_FILE, ids)):
        write_parquet(frame, folder / f"{chunk.number:06}-{name}")
    return Made(quality, len(budgets), max((budget.gap_ns for budget in budgets), default=0))
