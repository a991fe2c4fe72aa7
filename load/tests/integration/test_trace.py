"""Exemplars in a real Jaeger: its API's answers, and its page in a browser."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright
from typer.testing import CliRunner

from experiment.cli import app
from experiment.commands import trace
from experiment.trial import exemplars
from hops.traces.otlp import read_spans
from mesh.description.ports import Ports
from mesh.native.trace_store import open_trace_store
from mesh.paths import RunFolder, jaeger, jaeger_has_pages
from synthetic.run import write_generated_run
from synthetic.traces import otlp_document, shop_trace

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CUT_OFF = """[...document.querySelectorAll('.waterfall tbody th')]
    .filter((name) => name.scrollWidth > name.clientWidth || getComputedStyle(name).textOverflow === 'ellipsis')
    .map((name) => name.textContent)"""
"""Script that finds span names which are cut off."""


@pytest.fixture
def ports(free_ports: Callable[[], Ports], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ports:
    """Free ports of a run whose folder is outside the checkout."""
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
        page = trace.show_in_jaeger({"hybrid": loaded}, "a-run", ports)
        answer = got(ports, f"/api/v3/traces/{trace_id}")
        if not jaeger_has_pages(jaeger(os.environ), os.environ):
            assert f'<div id="{trace_id}"' in got(ports, urlsplit(page).path)
    assert {span.span_id for span in read_spans(answer.encode())} <= {span.span_id for span in spans}
    for words in ("hop.part", "proxy:edge", "1 exemplar of 9 traces is loaded", "hybrid"):
        assert words in answer


def test_if_jaeger_has_a_ui_the_page_is_a_file_each_time(ports: Ports) -> None:
    shutil.rmtree(RunFolder.of(ports.base).jaeger_page, ignore_errors=True)
    pages = [trace.show_in_jaeger({}, "a-run", ports) for _ in range(2)]
    assert pages == [(RunFolder.of(ports.base).path / "exemplars.html").as_uri()] * 2


def test_all_topologies_of_a_comparison_are_shown_and_one_can_be_chosen(
    ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_generated_run(tmp_path / "run", topologies=("rest", "hybrid"), blocks=2, journeys_per_trial=100)
    (run / "summary.json").touch()  # a file that only finished runs have
    monkeypatch.setenv("SHOP_PORT_BASE", str(ports.base))
    with open_trace_store(ports):
        done = CliRunner().invoke(app, ["trace", "--run", str(run), "--wait", "no"])
    assert done.exit_code == 0, done.output
    # In the user's order, not in the order of the trials.
    assert "Exemplars of rest. For hybrid: make trace topology=hybrid" in done.output
    (page,) = RunFolder.of(ports.base).path.rglob("exemplars.html")
    assert "<h1>rest, hybrid</h1>" in page.read_text()
    assert "exemplars.html" in done.output


def test_a_browser_gets_the_last_traces_whole(ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAEGER_UI", raising=False)
    if jaeger_has_pages(jaeger(os.environ), os.environ):
        pytest.skip("this Jaeger has a UI, which lists traces itself")
    program = os.environ.get("CHROMIUM_BIN") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("the last traces were not looked at in a browser, because there is none: apt-get install chromium")
    now = time.time_ns()
    traces = [shop_trace(seed, 30, start_ns=now - seed * 10**9) for seed in range(1, 4)]
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(json.dumps(otlp_document(spans)) for spans in traces))
    shown = {}
    for topology, spans in zip(("hybrid", "rest", "grpc"), traces, strict=True):
        saved = tmp_path / f"{topology}.jsonl"
        saved.write_text(json.dumps(otlp_document(spans)))
        shown[topology] = trace.read_exemplars(saved, {"checkout": {"p50": spans[0].trace_id}})
    with open_trace_store(ports), sync_playwright() as playwright:
        exemplars.load(file, ports.url("jaeger-otlp-http"))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{ports.url('jaeger-query-http')}/search?service=edge&limit=20")
        expect(page.locator("#traces a")).to_have_text([spans[0].trace_id for spans in traces])
        page.locator("#traces a").first.click()
        expect(page.locator("#trace tbody tr")).to_have_count(30)
        assert page.evaluate(CUT_OFF) == []
        at = trace.show_in_jaeger(shown, "a-run", ports)
        for width, side_by_side in ((1280, 2), (2000, 3), (390, 1)):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(at)
            boxes = [place.bounding_box() for place in page.locator(".side > div").all()]
            assert len({round(box["x"]) for box in boxes if box}) == side_by_side
            assert page.evaluate(CUT_OFF) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        # The exemplar at its address in Jaeger.
        page.goto(f"{ports.url('jaeger-query-http')}/trace/{traces[1][0].trace_id}")
        page.wait_for_url(f"**/exemplars.html#{traces[1][0].trace_id}")
        browser.close()


def test_a_built_ui_is_shown(ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "index.html").write_text("<title>built</title>")
    monkeypatch.setenv("JAEGER_UI", str(tmp_path / "ui"))
    with open_trace_store(ports):
        assert got(ports, "/search") == "<title>built</title>"
