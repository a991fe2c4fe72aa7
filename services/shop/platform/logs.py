"""Logs: one JSON object a line on stderr, with the trace that a line belongs to."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from opentelemetry import trace

from shop.platform.config import ServiceConfig


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object: time, level, component, logger, message, trace_id, error.

    Args:
        component: Which process logs.
    """

    def __init__(self, component: str) -> None:
        super().__init__()
        self._component = component

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of a record, without its end."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "component": self._component,
            "logger": record.name,
            "message": record.getMessage(),
        }
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            line["trace_id"] = f"{span.trace_id:032x}"
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure_logging(config: ServiceConfig, stream: TextIO | None = None) -> None:
    """Sends the logs of this process to a stream, in place of whatever was configured before.

    Args:
        config: Names the component and the least severe level.
        stream: Where lines go; stderr if None.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(config.component))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(config.log_level)
