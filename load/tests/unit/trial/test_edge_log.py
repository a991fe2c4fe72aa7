"""Reading the edge's access log."""

from __future__ import annotations

import json
from pathlib import Path

from experiment.trial.edge_log import read_edge_log
from hops.gates.edge_agreement import LoggedRequest

WANTED, OTHER, SPAN = "a" * 32, "b" * 32, "c" * 16


def line(traceparent: str | None, duration_ns: int | None = 1_234_567) -> str:
    return json.dumps({"status": 200, "duration_ns": duration_ns, "traceparent": traceparent}) + "\n"


def test_requests_of_the_wanted_traces_are_read(tmp_path: Path) -> None:
    log = tmp_path / "edge.jsonl"
    of_wanted = line(f"00-{WANTED}-{SPAN}-01")
    given_up = line(f"00-{WANTED}-{SPAN}-01", None)
    log.write_text(
        # `-` is what Envoy writes for a header that is not there, null in JSON; a client may send anything.
        line(None) + line("-") + line("zzz") + of_wanted + line(f"00-{OTHER}-{SPAN}-00") + given_up + of_wanted[:40]
    )
    assert read_edge_log(log, [WANTED]) == [
        LoggedRequest(WANTED, SPAN, 1_234_567),
        LoggedRequest(WANTED, SPAN, None),
    ]


def test_whatever_bytes_a_client_sent_others_are_read(tmp_path: Path) -> None:
    log = tmp_path / "edge.jsonl"
    log.write_bytes(
        b'{"path": "/\xff", "duration_ns": 1, "traceparent": null}\n' + line(f"00-{WANTED}-{SPAN}-01").encode()
    )
    assert read_edge_log(log, [WANTED]) == [LoggedRequest(WANTED, SPAN, 1_234_567)]
