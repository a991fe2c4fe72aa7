"""Logs: one JSON object per line, with the trace."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

from shop.platform.telemetry.trace_context import sampled_caller


def test_line_is_one_json_object(log: io.StringIO) -> None:
    logging.getLogger("shop.test").info("two\nlines of %s", "ü")
    logging.getLogger("shop.test").debug("too low")
    (line,) = log.getvalue().splitlines()
    said = json.loads(line)
    assert said.pop("time").endswith("+00:00")
    assert said == {"level": "INFO", "component": "product", "logger": "shop.test", "message": "two\nlines of ü"}


def test_error_and_trace_are_in_the_line(log: io.StringIO, traces: Any) -> None:
    with traces.journey() as root:
        try:
            raise ValueError("why")
        except ValueError:
            logging.getLogger("shop.test").exception("failed")
    said = json.loads(log.getvalue())
    assert said["trace_id"] == f"{root.trace_id:032x}"
    assert "ValueError: why" in said["error"]


def test_a_header_that_cannot_be_read_stays_out_of_the_log(log: io.StringIO) -> None:
    assert sampled_caller("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "the name of a person") is not None
    assert log.getvalue() == ""
