"""Malformed requests get the same status, code and form from the real Envoy and Kong, or a documented exception."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import hpack
import pytest
from hyperframe.frame import DataFrame, Frame, HeadersFrame, RstStreamFrame
from stand_ins import QuietHandler, edge_run, needs_kong, serve
from stand_ins.malformed import CLOSED, IN_GRAPHQL, OVER_HTTP1, OVER_HTTP2, PASSED, RESET, Row

from mesh.description.ports import HOST, Ports
from mesh.description.topology import GATEWAYS, load_topology
from mesh.edge.component import ACCESS_LOG
from mesh.edge.limits import REQUEST_S
from mesh.edge.plan import EdgePlan
from mesh.paths import ROOT, RunFolder

LIMIT_S = 2 * REQUEST_S + 5
"""Within this time, every request is answered or its connection is closed."""
PAGE = ROOT / "docs" / "system" / "edge.md"


class Component(QuietHandler):
    def answer_any(self) -> None:
        # Bodies remain unread, so the connection is closed. The header announces that, so that no edge sends another
        # request over this connection.
        self.answer(b"", connection="close", **{"x-passed": "on"})

    do_GET = do_POST = answer_any  # noqa: N815 (http.server's names)

    def version_string(self) -> str:
        return "component"


@dataclass
class Answer:
    """The first answer of an edge, or how the connection ended without one; both are empty after a timeout."""

    ended: str = ""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __str__(self) -> str:
        if not self.status:
            return self.ended or f"nothing within {LIMIT_S} s"
        if "x-passed" in self.headers:
            return PASSED
        if "grpc-status" in self.headers:
            return f"grpc-status {self.headers['grpc-status']}"
        if "errors" in self.error:
            return f"{self.status} {self.error['errors'][0]['extensions']['code']} {IN_GRAPHQL}"
        return f"{self.status} {self.error['code']}"

    @property
    def error(self) -> dict[str, Any]:
        """The body of an error, in chunks or not."""
        document: dict[str, Any] = json.loads(self.body[self.body.index(b"{") : self.body.rindex(b"}") + 1])
        return document


def over_http1(port: int, sent: bytes) -> Answer:
    answer, got = Answer(), b""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
        try:
            connection.sendall(sent)
            while not is_whole(got):
                piece = connection.recv(65_536)
                got += piece
                if not piece:
                    break
        except TimeoutError:
            return answer
        except OSError:
            pass  # closed while the rest was being sent
    head, _, answer.body = got.partition(b"\r\n\r\n")
    line, *headers = head.decode("latin1").split("\r\n")
    if not got:
        answer.ended = CLOSED
        return answer
    answer.status = int(line.split()[1])
    answer.headers = {name.lower(): value.strip() for name, _, value in (header.partition(":") for header in headers)}
    return answer


def is_whole(got: bytes) -> bool:
    head, end, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    return bool(end) and (len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n"))


def over_http2(port: int, sent: bytes) -> Answer:
    answer, decoder, got = Answer(), hpack.Decoder(), b""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
        try:
            connection.sendall(sent)
            while piece := connection.recv(65_536):
                got += piece
                for frame in frames(got):
                    got = got[9 + frame.body_len :]
                    if isinstance(frame, RstStreamFrame) and not answer.status:
                        answer.ended = RESET
                    if isinstance(frame, HeadersFrame):
                        answer.headers |= {str(name): str(value) for name, value in decoder.decode(frame.data)}
                        answer.status = int(answer.headers[":status"])
                    if isinstance(frame, DataFrame):
                        answer.body += frame.data
                    if answer.ended or ("END_STREAM" in frame.flags and answer.status):
                        return answer
            answer.ended = CLOSED
        except TimeoutError:
            pass
        except OSError:
            answer.ended = CLOSED
    return answer


def frames(got: bytes) -> Iterator[Frame]:
    while len(got) >= 9:
        frame, length = Frame.parse_frame_header(memoryview(got[:9]))
        if len(got) < 9 + length:
            return
        frame.parse_body(memoryview(got[9 : 9 + length]))
        frame.body_len = length
        yield frame
        got = got[9 + length :]


ASKED: Sequence[tuple[str, Callable[[int, bytes], Answer], Sequence[Row]]] = (
    ("HTTP/1.1", over_http1, OVER_HTTP1),
    ("HTTP/2", over_http2, OVER_HTTP2),
)
ROWS = [(version, row) for version, _, rows in ASKED for row in rows]
Answers = Mapping[tuple[str, str], Answer]


@pytest.fixture(scope="module", params=["envoy", pytest.param("kong", marks=needs_kong)])
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def answers(
    program: str, free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Answers]:
    """An edge's answers to all rows, which are sent in parallel because some answers take seconds."""
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("malformed"))
    plan = EdgePlan(load_topology("hybrid", updates="on"), ports, folder.logs / ACCESS_LOG)
    gateways = [(HOST, ports[name]) for name in GATEWAYS]
    with serve(Component, *gateways), edge_run(plan, ports, folder, program), ThreadPoolExecutor(32) as pool:
        began = time.monotonic()
        asked = {
            (version, row.name): pool.submit(ask, ports["edge"], row.sent)
            for version, ask, rows in ASKED
            for row in rows
        }
        yield {name: future.result(3 * LIMIT_S) for name, future in asked.items()}
        assert str(over_http1(ports["edge"], OVER_HTTP1[0].sent)) == PASSED, time.monotonic() - began


@pytest.mark.parametrize(("version", "row"), ROWS, ids=[f"{version}-{row.name}" for version, row in ROWS])
def test_both_edges_answer_alike(program: str, answers: Answers, version: str, row: Row) -> None:
    answer = answers[version, row.name]
    assert str(answer) == row.but.get(program, row.answer)
    headers = json.dumps(answer.headers).lower()
    assert not [name for name in ("envoy", "kong", "nginx") if name in headers]
    if not answer.status or str(answer) == PASSED:
        return
    kind = answer.headers["content-type"]
    if "grpc-status" in answer.headers:
        assert (answer.status, kind) == (200, "application/grpc")
        assert answer.headers["grpc-message"]
    elif "errors" in answer.error:
        assert kind == "application/json"
        assert answer.error["errors"][0]["message"]
    else:
        assert kind == "application/problem+json"
        assert {"type", "title", "status", "detail", "code"} <= answer.error.keys()
        assert answer.error["status"] == answer.status
        assert all(answer.error.values())


def exceptions() -> list[str]:
    """Returns the page's table rows. Requests share a row if both edges answer them equally, except for the code."""
    requests: dict[tuple[str, str, str], list[str]] = {}
    for version, row in ROWS:
        if row.but:
            answers = [row.but.get(program, row.answer) for program in ("envoy", "kong")]
            envoy, kong = (re.sub(" [A-Z]+_[A-Z]+", "", answer) for answer in answers)
            requests.setdefault((version, envoy, kong), []).append(row.name)
    return [
        f"| {version}: {'; '.join(names)} | {envoy} | {kong} |" for (version, envoy, kong), names in requests.items()
    ]


def test_the_page_lists_the_edges_different_answers() -> None:
    (table,) = re.findall(r"(?m)^\| malformed \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text())
    assert table.splitlines() == exceptions()


def test_a_row_has_the_reason_for_a_different_answer() -> None:
    assert [row.name for _, row in ROWS if bool(row.but) != bool(row.why)] == []
    assert len({(version, row.name) for version, row in ROWS}) == len(ROWS)
