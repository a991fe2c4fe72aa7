"""Runs whose clients reach the edge over TLS and over HTTP/3, as a user starts them."""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

BASE = 21000


@pytest.mark.parametrize(("topology", "how"), [("grpc", "tls=on"), ("hybrid", "http=3")])
def test_gates_that_depend_only_on_the_code_hold(terminal: Any, topology: str, how: str) -> None:
    summary, folder = terminal.bench(f"topology={topology}", how)
    http = 3 if how == "http=3" else 2
    assert (summary["switches"]["tls"], summary["switches"]["http"]) == ("on", http)
    assert terminal.failed_code_gates(summary) == []
    with next(folder.glob("trials/*/logs/edge.access.jsonl")).open() as log:
        spoken = {json.loads(line)["protocol"] for line in log}
    assert spoken == {f"HTTP/{http}"}
    assert terminal.left_over() == []


def test_over_http_3_answers_and_effects_are_those_of_http_2(terminal: Any) -> None:
    def parity(topologies: str, http: int) -> list[dict[str, Any]]:
        command = ["-m", "experiment", "parity", "--topologies", topologies, "--http", str(http)]
        done = terminal.run(sys.executable, *command, "--samples", "2", "--json")
        assert done.returncode == 0, done.stderr
        checked: list[dict[str, Any]] = json.loads(done.stdout)
        return checked

    (before,) = parity("rest", 2)
    over_http_3 = parity("rest,graphql,hybrid", 3)
    assert [one["topology"] for one in over_http_3] == ["rest", "graphql", "hybrid"]
    for one in over_http_3:
        assert (one["compared"], one["state"]) == (before["compared"], before["state"])
    assert len(before["compared"]) == 8  # every journey
    assert terminal.left_over() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tls=yes"], "tls=yes is unknown; valid: off, on"),
        (["tls=on", "edge=none", "http=1"], "tls=on needs an edge; give edge=envoy or edge=kong"),
        (["http=4"], "http=4 is unknown; valid: 1, 2, 3"),
        (["http=3", "tls=off"], "http=3 with tls=off: QUIC is always encrypted"),
        (["http=3", "topology=grpc"], "http=3: the clients of grpc speak only gRPC, which always uses HTTP/2"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(refused, arguments: list[str], message: str) -> None:
    refused(["profile=smoke", *arguments, "bench"], message)


@pytest.mark.parametrize("target", ["bench", "up"])
def test_a_udp_port_that_is_taken_is_named_before_anything_starts(terminal: Any, target: str) -> None:
    earlier, latest = set(terminal.results.glob("*")), terminal.latest()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", BASE))
        done = terminal.make("topology=hybrid", "http=3", target)
    assert done.returncode == terminal.make_failed
    assert f"127.0.0.1:{BASE} (edge, UDP)" in done.stderr
    assert earlier <= set(terminal.results.glob("*"))
    assert terminal.latest() == latest
    assert terminal.left_over() == []
