from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from experiment.own_target import traces
from experiment.own_target.traces import read_target_traces

from ...http_server import http_server

WHOLE, SHORT = "a" * 32, "b" * 32


@pytest.fixture
def asked() -> list[str]:
    """The paths of the requests so far."""
    return []


@pytest.fixture
def store(asked: list[str]) -> Iterator[str]:
    """Address of a Zipkin that keeps only the last 16 digits of a trace's id, as a store with short ids does."""

    def answer(_method: str, path: str, _body: bytes) -> tuple[int, list[dict[str, Any]]]:
        asked.append(path)
        kept = {WHOLE: WHOLE, SHORT: SHORT[16:]}.get(path.rpartition("/")[2])
        span = {"traceId": kept, "id": "1" * 16, "name": "get", "kind": "SERVER", "timestamp": 1_700_000_000_000_000,
                "duration": 5, "localEndpoint": {"serviceName": "books"}}  # fmt: skip
        return 200 if kept or path == "/api/v2/services" else 404, [span] if kept else []

    with http_server(answer) as url:
        yield url


def test_the_limit_ends_reading_between_batches_and_reports_the_rest(
    store: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "BATCH", 1)
    clock = SimpleNamespace(monotonic=itertools.count().__next__, sleep=time.sleep)  # each reading adds 1 s
    monkeypatch.setattr(traces, "time", clock)
    output: list[str] = []
    ids = [WHOLE, *(f"{number:032x}" for number in range(9))]
    read = read_target_traces([store], ids, limit_s=4, say=output.append)
    assert set(read) == {WHOLE}
    of_traces = [path for path in asked if "/trace/" in path]
    assert 0 < len(of_traces) < len(ids)
    assert output == [f"{len(ids) - len(of_traces)} of 10 traces could not be read within 4 s; give a smaller trace="]


def test_spans_of_a_trace_that_was_not_requested_are_left_out(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "QUIET_S", 0.0)
    read = read_target_traces([store], [WHOLE, SHORT])
    assert {trace_id: [span.service for span in spans] for trace_id, spans in read.items()} == {WHOLE: ["books"]}
