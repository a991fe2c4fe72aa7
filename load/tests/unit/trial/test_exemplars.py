from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiment.trial.exemplars import load, save
from hops.errors import JaegerError

from ...http_server import http_server

CHOSEN = {"checkout": {"p50": "a", "p99": "b"}, "browse": {"p50": "a", "p99": "a"}}


@pytest.fixture
def taken() -> list[bytes]:
    """The traces that the Jaeger has accepted."""
    return []


@pytest.fixture
def jaeger(taken: list[bytes]) -> Iterator[str]:
    """Address of a Jaeger that has the traces a and b, and accepts any."""

    def answer(method: str, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if method == "POST":
            taken.append(body)
            return 200, {}
        trace_id = path.rpartition("/")[2]
        return (200, {"result": {"trace": trace_id}}) if trace_id in "ab" else (404, {"error": "unknown"})

    with http_server(answer) as url:
        yield url


def test_each_trace_is_saved_once_and_sent_as_it_was_saved(jaeger: str, taken: list[bytes], tmp_path: Path) -> None:
    file = tmp_path / "exemplars.jsonl"
    save(jaeger, CHOSEN, file)
    lines = file.read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [{"trace": "a"}, {"trace": "b"}]
    load(file, jaeger)
    assert taken == lines


def test_a_trace_that_jaeger_does_not_have_is_named(jaeger: str, tmp_path: Path) -> None:
    with pytest.raises(JaegerError, match=r"did not return trace c: GET /api/v3/traces/c answered 404 Not Found"):
        save(jaeger, {"checkout": {"p50": "c"}}, tmp_path / "exemplars.jsonl")


def test_a_jaeger_that_is_gone_is_named(tmp_path: Path) -> None:
    with http_server(lambda *_: (200, {})) as url:
        pass
    file = tmp_path / "exemplars.jsonl"
    file.write_text("{}\n")
    with pytest.raises(JaegerError, match=f"{url} did not accept the saved traces"):
        load(file, url)
