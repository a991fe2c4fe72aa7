"""Converts a target file to the steps that the load generator runs."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from experiment.own_target.addresses import SCHEMES, address_of
from experiment.own_target.file import BUILT_IN, Step, Table, TargetFile

FORMAT = "hopwise-steps/1"
"""Format that `load/internal/steps` reads."""
MAX_ROWS, MAX_BYTES = 200_000, 32 << 20
_ERRORS = "/errors"
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def steps_of(file: TargetFile) -> dict[str, Any]:
    """Makes the document of the steps and the files that they name; raises UsageError, which names a mistake's line."""
    target = file.target
    speaks = _endpoints(file)
    descriptors: dict[str, str] = {}
    journeys = []
    for name, journey in target.journeys.items():
        if journey.table and journey.table not in target.tables:
            known = ", ".join(target.tables) or "none"
            raise file.error(f"there is no table {journey.table!r}; tables: {known}", "journeys", name, "table")
        steps = [_step(file, speaks, name, place, step) for place, step in enumerate(journey.steps)]
        for step, pause in zip(steps, journey.pauses(), strict=True):
            step["think"] = [1000 * pause.from_s, 1000 * pause.to_s] if pause else []
        for set_of in filter(None, (step.descriptors for step in journey.steps)):
            if set_of not in descriptors:
                descriptors[set_of] = base64.b64encode(_bytes(file, set_of, "journeys", name)).decode()
        journeys.append({"name": name, "table": journey.table, "steps": steps})
    return {
        "format": FORMAT,
        "name": target.name,
        "file": file.path.name,
        "workload": _workload(file),
        "tables": {name: _table(file, name, table) for name, table in target.tables.items()},
        "descriptors": descriptors,
        "journeys": journeys,
    }


def _workload(file: TargetFile) -> dict[str, Any]:
    target = file.target
    mix = [
        {"journey": name, "channel": journey.channel.value, "weight": journey.weight}
        for name, journey in target.journeys.items()
    ]
    arrival = target.arrival.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {"name": target.name, "arrival": arrival, "mix": mix}


def _endpoints(file: TargetFile) -> dict[str, str]:
    """Returns the protocol of each endpoint, which must be the same for all targets."""
    speaks: dict[str, dict[str, str]] = {}
    encrypted = set()
    for name, place in file.target.targets.items():
        where = "targets", name, "endpoints"
        schemes = {one: address_of(file, url, *where, one).scheme for one, url in place.endpoints.items()}
        encrypted |= {SCHEMES[scheme][0] for scheme in schemes.values()}
        speaks[name] = {one: SCHEMES[scheme][1] for one, scheme in schemes.items()}
    first, *others = speaks
    for other in others:
        if speaks[other] != speaks[first]:
            raise file.error(f"must have the same endpoints as {first}", "targets", other)
    if len(encrypted) > 1:
        raise file.error("endpoints with and without TLS cannot be mixed; use TLS for all or for none", "targets")
    return speaks[first]


def _step(file: TargetFile, speaks: Mapping[str, str], journey: str, place: int, step: Step) -> dict[str, Any]:
    where = "journeys", journey, "steps", place
    wanted = "grpc" if step.grpc else "rest"
    fit = [name for name, spoken in speaks.items() if spoken == wanted]
    at = step.at or (fit[0] if len(fit) == 1 else "")
    if at not in fit:
        asked = f"{step.at!r} is not an" if step.at else "needs at: to name an"
        raise file.error(
            f"{asked} endpoint for {'gRPC' if step.grpc else 'HTTP'}; valid: {', '.join(fit) or 'none'}", *where
        )
    document = {
        "name": step.name or _describe(step),
        "line": file.yaml.line_of(where),
        "at": at,
        "headers": step.headers,
        "status": list(step.expect.status),
        "code": step.expect.code,
        "equal": step.expect.equal,
        "there": list(step.expect.there),
        "absent": list(step.expect.absent),
        "take": {name: source.model_dump(exclude_defaults=True) for name, source in step.take.items()},
        "ignore": list(step.ignore),
    }
    return document | _request_of(step)


def _describe(step: Step) -> str:
    if step.graphql is not None:
        named = re.search(r"\b(query|mutation)\s+(\w+)", step.graphql)
        return f"{named[1]} {named[2]}" if named else f"POST {step.path}"
    return step.http or step.grpc or ""


def _request_of(step: Step) -> dict[str, Any]:
    if step.grpc is not None:
        return {"rpc": step.grpc, "json": step.message, "descriptors": step.descriptors}
    if step.graphql is not None:
        body = {"query": step.graphql.replace("${", "$${"), "variables": step.variables}
        absent = [pointer for pointer in step.expect.absent if pointer != _ERRORS]
        expected = [*step.expect.equal, *step.expect.there, *absent]
        reads_errors = any(f"{pointer}/".startswith(f"{_ERRORS}/") for pointer in expected)
        more = {} if reads_errors else {"absent": absent, "no_errors": True}
        return {"method": "POST", "path": step.path, "json": body, **more}
    method, _, path = (step.http or "").partition(" ")
    sent = {} if step.body is None else {"text" if isinstance(step.body, str) else "json": step.body}
    return {"method": method, "path": path, **sent}


def _table(file: TargetFile, name: str, table: Table) -> dict[str, Any]:
    where = "tables", name
    try:
        text = _bytes(file, table.file, *where).decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise file.error(f"{table.file} is not a CSV file in UTF-8: {error}", *where) from error
    if not 2 <= len(rows) <= 1 + MAX_ROWS:
        raise file.error(
            f"{table.file} has {max(len(rows) - 1, 0)} rows below the line of variable names; give 1 to {MAX_ROWS:,}",
            *where,
        )
    columns, *values = rows
    if wrong := [column for column in columns if not re.fullmatch(r"[A-Za-z_]\w*", column, re.ASCII)]:
        raise file.error(f"{table.file}: {wrong[0]!r} is not a valid variable; use letters, digits and _", *where)
    if twice := [column for place, column in enumerate(columns) if column in columns[:place]]:
        raise file.error(f"{table.file}:1: the column {twice[0]} appears twice", *where)
    if taken := [column for column in columns if column in BUILT_IN]:
        raise file.error(f"{table.file}:1: {taken[0]} is a variable that every journey has; rename the column", *where)
    if unknown := set(table.numbers) - set(columns):
        raise file.error(f"{table.file} has no column {min(unknown)}; columns: {', '.join(columns)}", *where, "numbers")
    return {
        "file": table.file,
        "take": table.take,
        "columns": columns,
        "rows": [_row(file, name, table, columns, row, number) for number, row in enumerate(values, start=2)],
    }


def _row(file: TargetFile, name: str, table: Table, columns: list[str], row: list[str], number: int) -> list[Any]:
    if len(row) != len(columns):
        raise file.error(f"{table.file}: row {number} has {len(row)} values for {len(columns)} columns", "tables", name)
    values: list[Any] = []
    for column, value in zip(columns, row, strict=True):
        read = _number(value) if column in table.numbers else value
        if read is None:
            raise file.error(f"{table.file}: row {number}: {column} {value[:40]!r} is not a number", "tables", name)
        if isinstance(read, float) and Decimal(value) != Decimal(repr(read)):
            raise file.error(
                f"{table.file}: row {number}: {column} {value[:40]!r} has more digits than a number can hold; leave "
                "the column out of numbers to send it as text",
                "tables",
                name,
            )
        values.append(read)
    return values


def _number(text: str) -> float | None:
    """Parses a finite number; returns None for any other text."""
    try:
        number = json.loads(text) if _NUMBER.fullmatch(text) else math.nan
        return number if math.isfinite(number) and Decimal(text).is_finite() else None
    except (ValueError, ArithmeticError):  # thousands of digits, or a huge exponent
        return None


def _bytes(file: TargetFile, name: str, *where: object) -> bytes:
    path: Path = file.resolve(name)
    try:
        with path.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise file.error(f"{name} cannot be read: {error.strerror}", *where) from error
    if len(raw) > MAX_BYTES:
        raise file.error(f"{name} is larger than {MAX_BYTES >> 20} MiB", *where)
    return raw
