"""HTTP/3 accepts no early data (0-RTT): an attacker who records it could replay it, including a write."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, QuicEvent
from aioquic.tls import SessionTicket
from stand_ins import edge_run

from mesh.description.ports import Ports
from mesh.description.topology import load_topology
from mesh.edge.component import ACCESS_LOG
from mesh.edge.plan import EdgePlan
from mesh.paths import RunFolder
from mesh.sidecars.certificates import edge_certificate

LIMIT_S = 10


class Visit(QuicConnectionProtocol):
    """A connection that sends one login as early as possible."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.http = H3Connection(self._quic)
        self.shook: asyncio.Future[HandshakeCompleted] = asyncio.get_running_loop().create_future()
        self.status: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self.shook.set_result(event)
        for received in self.http.handle_event(event):
            if isinstance(received, HeadersReceived):
                self.status.set_result(dict(received.headers)[b":status"])

    async def log_in(self) -> tuple[bytes, HandshakeCompleted]:
        stream = self._quic.get_next_available_stream_id()
        asked = {":method": "POST", ":scheme": "https", ":authority": "localhost", ":path": "/v1/sessions"}
        self.http.send_headers(stream, [(name.encode(), value.encode()) for name, value in asked.items()])
        self.http.send_data(stream, b"{}", end_stream=True)
        self.transmit()
        async with asyncio.timeout(LIMIT_S):
            return await self.status, await self.shook


async def visit(
    port: int, trusted: Path, ticket: SessionTicket | None
) -> tuple[bytes, HandshakeCompleted, SessionTicket]:
    """Logs in on a new connection, in its first packets if there is a ticket; also returns the next session ticket."""
    tickets = asyncio.Queue[SessionTicket]()
    settings = QuicConfiguration(
        alpn_protocols=H3_ALPN, cafile=str(trusted), server_name="localhost", session_ticket=ticket
    )
    reached = connect(
        "127.0.0.1",
        port,
        configuration=settings,
        create_protocol=Visit,
        session_ticket_handler=tickets.put_nowait,
        wait_connected=ticket is None,
    )
    async with reached as connection:
        assert isinstance(connection, Visit)
        status, shook = await connection.log_in()
        async with asyncio.timeout(LIMIT_S):
            return status, shook, await tickets.get()


async def test_a_write_is_not_taken_before_the_handshake(ports: Ports, folder: RunFolder) -> None:
    certificate = edge_certificate(folder)
    plan = EdgePlan(load_topology("rest"), ports, folder.logs / ACCESS_LOG, certificate=certificate, quic=True)
    with edge_run(plan, ports, folder):
        status, _, ticket = await visit(ports["edge"], certificate.trusted, None)
        # Nothing runs behind the edge.
        assert status == b"503"
        status, shook, _ = await visit(ports["edge"], certificate.trusted, ticket)
    assert status == b"503"
    assert (shook.session_resumed, shook.early_data_accepted) == (True, False)
