from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from experiment.trial.edge_log import at_edge, read_edge_log
from hops.gates.edge_agreement import LoggedRequest

WANTED, OTHER, SPAN = "a" * 32, "b" * 32, "c" * 16


def line(
    traceparent: str | None,
    duration_ns: int | None = 1_234_567,
    sending_ns: int | None = 89,
    behind_ns: int | None = 1_000_000,
) -> str:
    times = {"duration_ns": duration_ns, "sending_ns": sending_ns, "behind_ns": behind_ns}
    return json.dumps({"status": 200, **times, "traceparent": traceparent}) + "\n"


def test_requests_of_the_wanted_traces_are_read(tmp_path: Path) -> None:
    log = tmp_path / "edge.jsonl"
    of_wanted = line(f"00-{WANTED}-{SPAN}-01")
    given_up = line(f"00-{WANTED}-{SPAN}-01", None, None, None)
    log.write_text(
        # Envoy writes `-` for a missing header, null in JSON; a client may send anything.
        line(None) + line("-") + line("zzz") + of_wanted + line(f"00-{OTHER}-{SPAN}-00") + given_up + of_wanted[:40]
    )
    assert read_edge_log(log, [WANTED]) == [
        LoggedRequest(WANTED, SPAN, 1_234_567, 89, 1_000_000),
        LoggedRequest(WANTED, SPAN, None, 0),
    ]


def test_any_bytes_from_a_client_leave_other_requests_readable(tmp_path: Path) -> None:
    log = tmp_path / "edge.jsonl"
    log.write_bytes(
        b'{"path": "/\xff", "duration_ns": 1, "traceparent": null}\n' + line(f"00-{WANTED}-{SPAN}-01").encode()
    )
    assert read_edge_log(log, [WANTED]) == [LoggedRequest(WANTED, SPAN, 1_234_567, 89, 1_000_000)]


def test_a_journey_gets_the_time_of_its_requests_at_the_edge_and_behind_it() -> None:
    journeys = pl.DataFrame({"trace_id": ["two", "none", "given up", "answered by the edge"]})
    logged = [
        LoggedRequest("two", SPAN, 500, 0, 300),
        LoggedRequest("given up", SPAN, None, 0, 300),
        LoggedRequest("answered by the edge", SPAN, 20, 0, None),
        LoggedRequest("two", SPAN, 400, 0, 350),
    ]
    assert at_edge(journeys, logged).rows() == [
        ("two", 900, 650),
        ("none", None, None),
        ("given up", None, 300),
        ("answered by the edge", 20, None),
    ]
    assert at_edge(journeys, None)["edge_ns"].null_count() == 4
