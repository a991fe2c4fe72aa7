"""Exemplars in a real Jaeger: what its API gives, and what its port shows a browser."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from experiment.commands import trace
from hops.synthetic.traces import otlp_document, shop_trace
from hops.traces.otlp import read_spans
from mesh.description.ports import Ports
from mesh.native.trace_store import open_trace_store
from mesh.paths import RunFolder, jaeger, jaeger_has_pages

pytestmark = pytest.mark.integration


@pytest.fixture
def ports(free_ports: Callable[[], Ports], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ports:
    """A port base whose ports are free, and whose run has its folder away from the checkout's."""
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path)
    monkeypatch.setattr("mesh.paths.RunFolder.of", lambda *_: folder)
    return ports


def got(ports: Ports, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", ports["jaeger-query-http"], timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    assert answer.status == 200, body
    return body


def test_a_link_leads_to_the_trace(ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAEGER_UI", raising=False)
    spans = shop_trace(1, 30)
    trace_id = spans[0].trace_id
    file = tmp_path / "exemplars.jsonl"
    file.write_text(json.dumps(otlp_document(spans)))
    loaded = trace.read_exemplars(file, {"checkout": {"p50": trace_id}}, traced=9)
    with open_trace_store(ports):
        trace.show_in_jaeger(file, loaded, {"topology": "hybrid"}, "a-run", ports)
        answer = got(ports, f"/api/v3/traces/{trace_id}")
        page = got(ports, f"/trace/{trace_id}")
        if not jaeger_has_pages(jaeger(os.environ), os.environ):
            assert "/static/exemplars.html" in page
            assert f'<section id="{trace_id}"' in got(ports, "/static/exemplars.html")
    assert {span.span_id for span in read_spans(answer.encode())} <= {span.span_id for span in spans}
    for words in ("hop.part", "proxy:edge", "1 exemplar of 9 traces is loaded", "hybrid"):
        assert words in answer


def test_a_ui_that_was_built_is_shown(ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "index.html").write_text("<title>built</title>")
    monkeypatch.setenv("JAEGER_UI", str(tmp_path / "ui"))
    with open_trace_store(ports):
        assert got(ports, "/search") == "<title>built</title>"
