from __future__ import annotations

import queue
from itertools import count
from pathlib import Path

import pytest

from mesh.components import edge_cache_spans
from mesh.components.edge_cache import edge_cache_components
from mesh.components.edge_cache_spans import BATCH_S, CLIENT, SERVER, batches, span_of
from mesh.description.network import Line
from mesh.description.ports import load_ports
from mesh.errors import NotInstalledError
from mesh.paths import RunFolder, varnish

TRACE = "233bc9f08fa40af4445f4d1d89a33269"
HIT = (
    f"c\t32770\t32769\t00-{TRACE}-00000000000000a2-01\thit\t1795907974.382248\t1795907974.382422\t-\t-\t200\tGET\t/v1/a"
)
FETCH = f"b\t4\t3\t00-{TRACE}-0000000000000004-01\t-\t1795907974.352518\t-\t1795907974.368654\t-\t200\tGET\t/v1/a"


def test_a_request_of_a_client_is_a_span_below_the_client_s() -> None:
    span = span_of(HIT + "\n")
    assert span is not None
    assert (span["traceId"], span["spanId"], span["parentSpanId"]) == (TRACE, "0000000000032770", "00000000000000a2")
    assert (span["kind"], span["startTimeUnixNano"]) == (SERVER, "1795907974382248000")
    assert span["endTimeUnixNano"] == "1795907974382422000"
    assert {"key": "shop.edge_cache", "value": {"stringValue": "hit"}} in span["attributes"]


def test_the_cache_s_fetch_is_a_span_below_its_request() -> None:
    span = span_of(FETCH)
    assert span is not None
    assert (span["kind"], span["spanId"], span["parentSpanId"]) == (CLIENT, "0000000000000004", "0000000000000003")


@pytest.mark.parametrize(
    "line",
    ["", "c\t1", HIT.replace(TRACE, "-"), HIT.replace("1795907974.382422", "-"), "\t" * 11],
    ids=["empty", "short", "no trace", "no end", "nothing in it"],
)
def test_a_line_without_a_traced_request_has_no_span(line: str) -> None:
    assert span_of(line) is None


def test_lines_that_come_together_are_sent_together() -> None:
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    for line in (HIT, "nothing", FETCH, None):
        lines.put(line)
    assert [[span["name"] for span in batch] for batch in batches(lines)] == [["GET hit", "GET"]]


def test_lines_that_never_pause_are_sent_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0.0, BATCH_S / 10)
    monkeypatch.setattr(edge_cache_spans, "monotonic", lambda: next(clock))
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    for line in (*[HIT] * 100, None):
        lines.put(line)
    sizes = [len(batch) for batch in batches(lines)]
    assert sum(sizes) == 100
    assert max(sizes) < 20


def fake(folder: Path) -> str:
    for name in ("varnishd", "varnishncsa", "varnishstat"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder / "varnishd")


def test_clients_enter_by_tcp_on_this_machine_and_the_shop_by_a_socket(tmp_path: Path) -> None:
    ports, folder = load_ports({}), RunFolder.of(18000, tmp_path)
    cache, spans = edge_cache_components(ports, folder, {"VARNISH_BIN": fake(tmp_path)}, None, {})
    argv = list(cache.argv())
    listens = [argv[at + 1] for at, word in enumerate(argv) if word == "-a"]
    assert listens == ["clients=127.0.0.1:18003,HTTP", f"shop={folder.sockets}/ban,HTTP,mode=600"]
    assert argv[argv.index("-T") + 1] == "none"
    assert '.port = "18000"' in (folder.config / "edge_cache.vcl").read_text()
    assert str(tmp_path / "varnishncsa") in spans.argv()


def test_an_emulated_network_lies_between_cache_and_edge_both_ways(tmp_path: Path) -> None:
    ports, folder = load_ports({}), RunFolder.of(18000, tmp_path)
    *_, link = edge_cache_components(
        ports, folder, {"VARNISH_BIN": fake(tmp_path)}, Line(100, 1_000_000, 0), {"SHOP_EDGE_CACHE_BOUND_S": "5"}
    )
    argv = list(link.argv())
    assert argv[argv.index("--rtt") + 1] == "100ms"
    carried = [argv[at + 1] for at, word in enumerate(argv) if word == "--carry"]
    assert carried == ["127.0.0.1:18004=127.0.0.1:18000", f"unix:{folder.sockets}/far-ban=unix:{folder.sockets}/ban"]
    vcl = (folder.config / "edge_cache.vcl").read_text()
    assert '.port = "18004"' in vcl
    assert "set beresp.ttl = 5s;" in vcl


def test_without_varnish_the_message_says_how_to_get_one() -> None:
    with pytest.raises(
        NotInstalledError, match=r"VARNISH_BIN=/no/varnishncsa is not.*apt-get install varnish.*edge_cache"
    ):
        varnish("varnishncsa", {"VARNISH_BIN": "/no/varnishd", "PATH": ""})
