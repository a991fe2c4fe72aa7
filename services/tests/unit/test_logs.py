"""Logs: one JSON object a line, with the trace."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from shop.platform.config import ServiceConfig
from shop.platform.logs import configure_logging


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the logs of this test go; the root logger is as it was afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(ServiceConfig(component="product"), stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def test_line_is_one_json_object(stream: io.StringIO) -> None:
    logging.getLogger("shop.test").info("two\nlines of %s", "ü")
    logging.getLogger("shop.test").debug("too low")
    (line,) = stream.getvalue().splitlines()
    said = json.loads(line)
    assert said.pop("time").endswith("+00:00")
    assert said == {"level": "INFO", "component": "product", "logger": "shop.test", "message": "two\nlines of ü"}


def test_error_and_trace_are_in_the_line(stream: io.StringIO, traces: Any) -> None:
    with traces.journey() as root:
        try:
            raise ValueError("why")
        except ValueError:
            logging.getLogger("shop.test").exception("failed")
    said = json.loads(stream.getvalue())
    assert said["trace_id"] == f"{root.trace_id:032x}"
    assert "ValueError: why" in said["error"]
