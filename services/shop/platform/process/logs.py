"""Logs: one JSON object per line on stderr, with the trace that the line belongs to, and without database values.

A PostgreSQL error quotes data: the whole row that breaks a constraint, or a malformed value. A log line about such
an error has only the error's class and the constraint or code.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from shop.platform.config import ServiceConfig
from shop.platform.telemetry.trace_context import current_context

# Classes of errors whose message names objects of the database, but quotes no data (PostgreSQL, appendix A).
_WITHOUT_VALUES = ("08", "23", "25", "28", "3D", "40", "42", "53", "55", "57", "58")
_UNWANTED = (
    ("grpc.", "Invalid encoding on"),  # quotes a header
    ("opentelemetry.trace.span", ""),  # quotes the header `tracestate`
    ("uvicorn.error", '%s - "WebSocket %s"'),  # has the client's address and a query string
    ("uvicorn.error", "ASGI callable returned without"),  # written after each WebSocket that is refused
)
"""Records of libraries that are not written: names of loggers, and how the messages begin."""
_QUOTING = ("message", "detail", "hint", "context", "internal_query", "query")


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object: time, level, component, logger, message, trace_id, error."""

    def __init__(self, component: str) -> None:
        super().__init__()
        self._component = component

    def format(self, record: logging.LogRecord) -> str:
        for said in (record.msg, *(record.args if isinstance(record.args, tuple) else ())):
            if isinstance(said, BaseException):
                redact(said)
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "component": self._component,
            "logger": record.name,
            "message": record.getMessage(),
        }
        context = current_context()
        if context.is_valid:
            line["trace_id"] = f"{context.trace_id:032x}"
        if record.exc_info:
            if record.exc_info[1] is not None:
                redact(record.exc_info[1])
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def redact(error: BaseException) -> None:
    """Removes the data from a database error, and from all errors in its chain: their texts may name only objects."""
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        left += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions
        if hasattr(one, "sqlstate"):  # asyncpg's errors; gateways log as well, but load no database driver
            code = one.sqlstate or "unknown"
            one.args = (str(one.args[0]) if code.startswith(_WITHOUT_VALUES) and one.args else f"sqlstate {code}",)
            one.__dict__.update(dict.fromkeys(_QUOTING))
            # The cause also quotes an argument that does not fit its type.
            one.__cause__, one.__suppress_context__ = None, True


def is_wanted(record: logging.LogRecord) -> bool:
    return not any(record.name.startswith(name) and str(record.msg).startswith(text) for name, text in _UNWANTED)


def configure_logging(config: ServiceConfig, stream: TextIO | None = None) -> None:
    """Sends this process's logs to a stream, and nowhere else."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(config.component))
    handler.addFilter(is_wanted)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(config.log_level)
