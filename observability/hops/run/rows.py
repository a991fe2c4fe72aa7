"""The measured rows as data frames and parquet files."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import polars as pl

from hops.budget.parts import Budget
from hops.errors import MalformedJourneysError

OUTCOMES = ("ok", "client", "server", "timeout", "wrong_answer")
FAILURES = OUTCOMES[1:]

JOURNEYS = pl.Schema(
    {
        "seq": pl.Int64,
        "journey": pl.String,
        "channel": pl.String,
        "mode": pl.String,
        "intended_ns": pl.Int64,
        "started_ns": pl.Int64,
        "ended_ns": pl.Int64,
        "latency_ns": pl.Int64,
        "outcome": pl.String,
        "error": pl.String,
        "bytes_in": pl.Int64,
        "bytes_in_raw": pl.Int64,
        "bytes_out": pl.Int64,
        "requests": pl.Int64,
        "waves": pl.Int64,
        "parallel": pl.Int64,
        "network_ns": pl.Int64,
        "opening_round_trips": pl.Int64,
        "sampled": pl.Boolean,
        "trace_id": pl.String,
        "answer_sha256": pl.String,
        "order_id": pl.Int64,
    }
)
"""A row per journey of a replay, as the generator writes it."""
AT_EDGE = pl.Schema({"edge_ns": pl.Int64, "behind_edge_ns": pl.Int64})
"""Columns that the edge's log adds to a journey's row: the time of its requests at the edge, and how much of
it was spent behind the edge."""
_BEYOND = ("fields", "fields_beyond", "bytes_beyond", "packed_beyond")
"""Fields and bytes of an answer that its screen does not show; null if the screen shows all, and in older runs."""
SAMPLE = pl.Schema(
    {
        "journey": pl.String,
        "channel": pl.String,
        "wire_in": pl.Int64,
        "wire_out": pl.Int64,
        **dict.fromkeys(_BEYOND, pl.Int64),
    }
)
"""A row per journey that was sent alone, as the generator's sample writes it: every byte on the wire belongs to it."""
UPDATES = pl.Schema(
    {
        "user_id": pl.Int64,
        "position": pl.Int64,
        "order_id": pl.Int64,
        "status": pl.String,
        "created_ns": pl.Int64,
        "arrived_ns": pl.Int64,
        "again": pl.Boolean,
        "traceparent": pl.String,
    }
)
"""A row per update that reached a customer, as the generator's watch writes it."""
OPTIONAL = frozenset({"error", "trace_id", "answer_sha256", "order_id", *_BEYOND})

HOPS = pl.Schema(
    {
        "trace_id": pl.String,
        "journey": pl.String,
        "channel": pl.String,
        "part": pl.String,
        "ns": pl.Int64,
        "crossings": pl.Int64,
        "on_path": pl.Int64,
        "inner_on_path": pl.Int64,
    }
)
"""A row per trace and part."""
_HOPS_MADE = pl.Schema([*HOPS.items(), ("injected_ns", pl.Int64())])
CALLS = pl.Schema(
    {"trace_id": pl.String, "journey": pl.String, "caller": pl.String, "callee": pl.String, "between_ns": pl.Int64}
)
"""A row per call from one component to another."""
QUEUED = pl.Schema({"began_ns": pl.Int64, "queued_ns": pl.Int64})
"""Columns that event loops add to a call's row: when the callee began, and for how long its loop was busy."""
_CALLS_MADE = pl.Schema(
    [
        *CALLS.items(),
        *dict.fromkeys(("began_ns", "ahead_ns", "after_ns", "queued_ns", "injected_ns"), pl.Int64()).items(),
    ]
)
PATHS = pl.Schema({"journey": pl.String, "path": pl.String, "ns": pl.Int64, "traces": pl.Int64})
"""A row per journey and call path (`hops.budget.call_paths`) of a trial: the time of all traces whose journey ended ok,
and the number of these traces."""
RESOURCES = pl.Schema(
    {"at_ns": pl.Int64, "component": pl.String, "cpu_s": pl.Float64, "memory_mb": pl.Float64, "processes": pl.Int64}
)
"""A row per component and sample, taken while a trial's load ran."""
LOOKS = pl.Schema(
    {
        "at_s": pl.Float64,
        "held": pl.Int64,
        "component": pl.String,
        "memory_mb": pl.Float64,
        "descriptors": pl.Int64,
        "threads": pl.Int64,
        "connections": pl.Int64,
        "database_mb": pl.Float64,
    }
)
"""A row per component and sample of a probe. `at_s` counts from the start of the probe; `held` is the number of
connections that clients hold open. Memory that processes share is not counted. `database_mb` is the database's size."""
WATCHED = pl.Schema(
    {
        "user_id": pl.Int64,
        "position": pl.Int64,
        "created_ns": pl.Int64,
        "arrived_ns": pl.Int64,
        "again": pl.Boolean,
        "missed": pl.Boolean,
        "trace_id": pl.String,
        "traced": pl.Boolean,
        "off_ns": pl.Int64,
    }
)
"""A row per update of a waiting customer. A missed update has no times. `traced` says whether its trace is complete,
and `off_ns` is the difference between its budget's total and the sum of its parts."""
OBSERVED = {"looks": LOOKS, "updates": WATCHED, "update_hops": HOPS}
"""Rows of probes, by the name of their file."""


def read_rows(path: Path, schema: pl.Schema = JOURNEYS) -> pl.DataFrame:
    """Reads rows that the generator wrote, sorted by `seq` if that is among the columns.

    Raises:
        MalformedJourneysError: A line is not a JSON object of these columns; the message names the file and the column
            or value.
    """
    if not path.stat().st_size:
        return schema.to_frame()
    try:
        frame = pl.read_ndjson(path, schema=schema)
    except pl.exceptions.PolarsError as error:
        raise MalformedJourneysError(f"{path}: does not contain rows written by the load generator: {error}") from error
    nulls = [name for name in schema if name not in OPTIONAL and frame[name].null_count()]
    if nulls:
        raise MalformedJourneysError(f"{path}: rows lack {', '.join(nulls)}")
    unknown = sorted(set(frame["outcome"].unique()) - set(OUTCOMES)) if "outcome" in schema else ()
    if unknown:
        raise MalformedJourneysError(f"{path}: unknown outcomes: {', '.join(unknown)}; valid: {', '.join(OUTCOMES)}")
    return frame.sort("seq") if "seq" in schema else frame


def hops_frame(budgets: Iterable[Budget]) -> pl.DataFrame:
    """Converts budgets to rows.

    Returns:
        The columns of `HOPS`. `on_path` is the number of crossings on the critical path. `inner_on_path` is the number
        of INTERNAL spans that are inside the part and on that path. `injected_ns` is how long crossings on the path
        were delayed on purpose. A part that was crossed but cost nothing on the path has a row with 0 ns.
    """
    rows = [
        (
            budget.trace_id,
            budget.journey,
            budget.channel,
            part,
            budget.parts.get(part, 0),
            budget.crossings.get(part, 0),
            budget.on_path.get(part, 0),
            budget.inner_on_path.get(part, 0),
            budget.injected_ns.get(part, 0),
        )
        for budget in budgets
        for part in dict.fromkeys((*budget.parts, *budget.crossings))
    ]
    return pl.DataFrame(rows, schema=_HOPS_MADE, orient="row")


def calls_frame(budgets: Iterable[Budget]) -> pl.DataFrame:
    """Converts the calls of budgets to rows.

    Returns:
        The columns of `CALLS`; and when the callee began, how long after its caller, and how long before its caller it
        ended. Also how long the callee's event loop was busy with other work, and how long the callee was delayed on
        purpose.
    """
    rows = [
        (budget.trace_id, budget.journey, *msgspec.structs.astuple(call)) for budget in budgets for call in budget.calls
    ]
    return pl.DataFrame(rows, schema=_CALLS_MADE, orient="row")


def paths_frame(budgets: Iterable[Budget], journeys: pl.DataFrame) -> pl.DataFrame:
    """Adds up the call paths of a trial's budgets, each of a different trace, to the columns of `PATHS`."""
    ok = set(journeys.filter((pl.col("outcome") == "ok") & pl.col("sampled"))["trace_id"])
    sums, traces = Counter[tuple[str, str]](), Counter[str]()
    for budget in budgets:
        if budget.trace_id in ok:
            traces[budget.journey] += 1
            for path, ns in budget.paths.items():
                sums[budget.journey, path] += ns
    rows = [(journey, path, ns, traces[journey]) for (journey, path), ns in sorted(sums.items()) if ns]
    return pl.DataFrame(rows, schema=PATHS, orient="row")


def select_rows(frame: pl.DataFrame, mask: pl.Series) -> pl.DataFrame:
    """Selects rows with a mask; returns the frame itself if all rows stay: a copy of millions takes hundreds of MB."""
    return frame if mask.all(ignore_nulls=False) else frame.filter(mask)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Writes a frame so that the file is complete or missing; raises `OSError`, for example if the disk is full."""
    buffer = io.BytesIO()  # Polars itself reports a full disk with a different error, without errno
    frame.write_parquet(buffer)
    write_whole(path, lambda scratch: scratch.write_bytes(buffer.getbuffer()))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a new file next to `path`, and renames it when it is on disk.

    A symbolic link at `path` is replaced; the file that it points to does not change.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.partial")
    scratch.unlink(missing_ok=True)
    try:
        scratch.touch(exist_ok=False)  # does not follow links
        write(scratch)
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
