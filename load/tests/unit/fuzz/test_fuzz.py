"""The fuzzer finds faults in answers and logs, and makes the same inputs from the same seed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent
from typer.testing import CliRunner

from fuzz import wire
from fuzz.__main__ import app
from fuzz.edge import ENCRYPTED, edge_inputs
from fuzz.grpc import METHODS, grpc_inputs
from fuzz.inputs import CANARY, Input, keep, read_kept
from fuzz.judge import ANSWERED, LATE, REFUSED, UNANSWERED, judge, log_faults
from fuzz.run import Outcome
from fuzz.wire import HOST, Answer, Sender, h1_request
from mesh.description.ports import Ports
from mesh.errors import InputError
from mesh.paths import RunFolder
from mesh.sidecars.certificates import edge_certificate

NOT_FOUND = b'{"code":"NOT_FOUND","detail":"there is no product 7"}'
ANSWERS: list[tuple[Answer, str, str]] = [
    (Answer([200], {}, b"{}"), ANSWERED, ""),
    (Answer([404], {}, NOT_FOUND), REFUSED, ""),
    (Answer([503], {}, b'{"code":"UNAVAILABLE"}'), LATE, ""),
    (Answer([504]), LATE, ""),
    (Answer(), UNANSWERED, ""),
    (Answer([404, 500], {}, NOT_FOUND), REFUSED, "HTTP 500"),
    (Answer([501]), REFUSED, "HTTP 501"),
    (Answer([502]), REFUSED, "HTTP 502"),
    (Answer([200], {}, b'{"errors":[{"extensions":{"code":"INTERNAL"}}]}'), REFUSED, "code INTERNAL"),
    (Answer([200], {}, b'{"data":null,"errors":[{"extensions":{"code":"NOT_FOUND"}}]}'), REFUSED, ""),
    (Answer([200], {"grpc-status": "0"}), ANSWERED, ""),
    (Answer([200], {"grpc-status": "3"}), REFUSED, ""),
    (Answer([200], {"grpc-status": "4"}), LATE, ""),
    (Answer([200], {"grpc-status": "13", "grpc-message": "a%20bug"}), REFUSED, "gRPC INTERNAL: a bug"),
    (Answer([200], {"grpc-status": "13", "grpc-message": "Decompression failed due to data error"}), REFUSED, ""),
    (Answer([200], {"grpc-status": "2"}), REFUSED, "gRPC UNKNOWN: "),
    (Answer([400], {}, b'File "/app/shop/order/domain.py", line 3'), REFUSED, "internal text: "),
    (Answer([400], {}, b"relation shop_order.orders does not exist"), REFUSED, "internal text: shop_order"),
    (Answer([400], {}, b"SELECT id FROM account WHERE x"), REFUSED, "internal text: "),
    (Answer([400], {"server": "at 127.0.0.5:18021"}), REFUSED, "internal text: 127.0.0.5"),
    (Answer([200], {}, b"{", waiting=True), ANSWERED, "no whole answer"),
]


@pytest.mark.parametrize(("answer", "kind", "wrong"), ANSWERS)
def test_a_wrong_answer_is_classified(answer: Answer, kind: str, wrong: str) -> None:
    verdict = judge(b"", answer, must_answer=True)
    assert verdict[0] == kind
    assert verdict[1].startswith(wrong) if wrong else verdict[1] == ""


def test_an_answer_may_repeat_its_input() -> None:
    answer = Answer([400], {}, b"there is no field shop_order")
    assert judge(b"{ shop_order }", answer, must_answer=True) == (REFUSED, "")


def test_forbidden_text_in_logs_is_found(tmp_path: Path) -> None:
    log = tmp_path / "user.log"
    fine = '{"level": "WARNING", "message": "DEADLINE_EXCEEDED", "error": "Traceback (most recent call last)"}\n'
    log.write_text(fine)
    assert log_faults([log], ["Main Street 1"]) == {}
    markers = (CANARY, "user17@example.com", "tok_ok", "Main Street 1", '"level": "ERROR"')
    for what in markers:
        log.write_text(fine + f"x {what} x\n")
        ((fault, line),) = log_faults([log], ["Main Street 1"]).items()
        assert fault.startswith("user.log has ")
        assert what in line


@pytest.mark.parametrize(
    "inputs", [lambda seed: grpc_inputs("tcp-h2", ["x"], seed), lambda seed: edge_inputs(ENCRYPTED[:1], 1, seed)]
)
def test_the_same_seed_gives_the_same_inputs(
    inputs: Callable[[str], Iterator[Input]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.inputs.BATCH", 10)  # several batches, of which each takes a moment
    first, again, other = (list(islice(inputs(seed), 100)) for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def test_every_method_of_the_contract_is_called() -> None:
    assert len(METHODS) > 20
    assert {method.containing_service.name for method in METHODS} >= {"OrderService", "NotificationService"}


async def test_any_answer_is_read() -> None:
    response = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 X\r\ncontent-length: 4\r\nconnection: close\r\n\r\noops"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        sender = Sender(server.sockets[0].getsockname()[1])
        received = await sender.send("tcp-h1", h1_request("GET", "/"), 5.0)
    assert (received.statuses, received.body) == ([500], b"oops")


class _SlowServer(QuicConnectionProtocol):
    """Reads with a delay of 0.3 s, so that closing takes longer than the sender waits; answers nothing."""

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        asyncio.get_running_loop().call_later(0.3, super().datagram_received, data, addr)

    def quic_event_received(self, event: QuicEvent) -> None:
        pass


async def test_a_quic_connection_leaves_no_socket_even_if_closing_is_slow(
    free_ports: Callable[[], Ports], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "CONNECT_S", 2.0)
    ports = free_ports()
    certificate = edge_certificate(RunFolder.of(ports.base, root=tmp_path))
    settings = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    settings.load_cert_chain(certificate.chain, certificate.key)
    server = await serve(HOST, ports["edge"], configuration=settings, create_protocol=_SlowServer)
    sockets = psutil.Process().net_connections("udp")
    try:
        answer = await Sender(ports["edge"], certificate.trusted).send("quic", b"x", 0.7)
        await asyncio.sleep(0.1)
        assert (answer.waiting, psutil.Process().net_connections("udp")) == (True, sockets)
    finally:
        server.close()


def test_a_failure_is_counted_by_kind_and_its_input_is_kept(tmp_path: Path) -> None:
    outcome = Outcome(1, tmp_path / "kept")
    bad = Input("tcp-h1", b"GET /\xff\0")
    for number in range(5):
        outcome.fail("edge", "HTTP 500", f"hybrid/edge/1/{number}", [bad])
    (failure,) = outcome.failures
    assert (failure.count, failure.case, len(failure.files)) == (5, "hybrid/edge/1/0", 3)
    assert read_kept(Path(failure.files[0])) == (bad, "hybrid", "edge")
    assert outcome.as_dict()["ok"] is False
    keep(bad, tmp_path / "odd.json", place="hybrid")
    with pytest.raises(InputError, match=r"again=.*odd\.json is not an input"):
        read_kept(tmp_path / "odd.json")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--minutes", "0"], "minutes=0 is not valid: give minutes from 0.1 to 1440"),
        (["--seed", "abc"], "seed=abc is not valid: give an integer from 0"),
        (
            ["--surfaces", "nope"],
            "surfaces=nope: nope is unknown; valid: rest, graphql, edge, grpc, grpc-web, connect, harness",
        ),
        (["--again", "nothing.json"], "again=nothing.json cannot be read: No such file or directory\n"),
        (["--again", "/etc/hostname"], "again=/etc/hostname is not an input that `make fuzz` has kept\n"),
    ],
)
def test_invalid_options_are_refused(given: list[str], says: str) -> None:
    ended = CliRunner().invoke(app, given)
    assert ended.exit_code == 2
    assert says in ended.output
