"""Logs: one JSON object a line on stderr, with the trace that a line belongs to, and no row of the database.

An error of PostgreSQL quotes what it is about: the whole row that breaks a constraint, a value of the wrong form. What
is logged of it, by whomever, names its class and the constraint or code only.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from shop.platform.config import ServiceConfig
from shop.platform.telemetry.trace_context import current_context

# Classes of errors whose message names objects of the database, and nothing that is in them (PostgreSQL, appendix A).
_WITHOUT_VALUES = ("08", "23", "25", "28", "3D", "40", "42", "53", "55", "57", "58")
_QUOTING = ("message", "detail", "hint", "context", "internal_query", "query")


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object: time, level, component, logger, message, trace_id, error."""

    def __init__(self, component: str) -> None:
        super().__init__()
        self._component = component

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of a record, without its line end."""
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
    """Takes the data out of an error of the database, and out of those that it came from or stands for.

    Args:
        error: Any error; what it says afterwards names the database's objects, and none of their values.
    """
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
        if hasattr(one, "sqlstate"):  # asyncpg's; gateways log as well, and load no database driver
            code = one.sqlstate or "unknown"
            one.args = (str(one.args[0]) if code.startswith(_WITHOUT_VALUES) and one.args else f"sqlstate {code}",)
            one.__dict__.update(dict.fromkeys(_QUOTING))
            # An argument that does not fit its type is quoted by what the error came from, too.
            one.__cause__, one.__suppress_context__ = None, True


def quotes_no_header(record: logging.LogRecord) -> bool:
    """Says whether a record may be written: gRPC quotes a header that is not UTF-8, before it takes it as it is."""
    return not (record.name.startswith("grpc.") and str(record.msg).startswith("Invalid encoding on"))


def configure_logging(config: ServiceConfig, stream: TextIO | None = None) -> None:
    """Sends the logs of this process to a stream, and nowhere else."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(config.component))
    handler.addFilter(quotes_no_header)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(config.log_level)
