"""A whole topology behind the real edge, and a client that can send arbitrary bytes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset, TrailersReceived
from stand_ins import KONG, NO_KONG

from mesh.components.keys import key_pair
from mesh.components.postgres_owner import remove_cluster
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology, names
from mesh.native.system import System
from mesh.paths import RunFolder
from shop.platform.access.jwt import Principal, TokenSigner

Header = tuple[bytes, bytes]
LIMIT_S = 15.0
FOLDER = Path(__file__).parent


@dataclass
class Answer:
    """The answer over HTTP/2; trailers are among the headers."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    reset: bool = False

    @property
    def status(self) -> int:
        """The HTTP status; 0 if there is no status."""
        return int(self.headers.get(":status", "0"))

    @property
    def grpc_status(self) -> int | None:
        """The gRPC status; None if there is no status."""
        text = self.headers.get("grpc-status")
        return None if text is None else int(text)


def request(method: str, path: str, media_type: str, more: Sequence[Header] = ()) -> list[Header]:
    """Returns the headers of a valid request, with more headers that replace or accompany the valid ones."""
    good = [
        (b":method", method.encode()),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", b"shop"),
        (b"content-type", media_type.encode()),
        (b"te", b"trailers"),
    ]
    names = {name for name, _ in more}
    return [*(header for header in good if header[0] not in names), *more]


async def exchange(port: int, headers: Sequence[Header], *chunks: bytes, pause_s: float = 0.0) -> Answer:
    """Sends one request over a separate connection, without checking it; without a body, it never ends."""
    config = H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding=None)
    link = H2Connection(config)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = Answer()

    async def send() -> None:
        link.initiate_connection()
        link.send_headers(1, list(headers), end_stream=chunks == (b"",))
        for number, chunk in enumerate(chunks if chunks != (b"",) else ()):
            if number:
                await asyncio.sleep(pause_s)
            link.send_data(1, chunk, end_stream=number == len(chunks) - 1)
            writer.write(link.data_to_send())
        writer.write(link.data_to_send())

    async def receive() -> None:
        while data := await reader.read(65536):
            for event in link.receive_data(data):
                if isinstance(event, ResponseReceived | TrailersReceived):
                    answer.headers |= {k.decode("latin-1"): v.decode("latin-1") for k, v in event.headers}
                elif isinstance(event, DataReceived):
                    answer.body += event.data
                    link.acknowledge_received_data(event.flow_controlled_length, 1)
                elif isinstance(event, StreamReset):
                    answer.reset = not answer.headers
                    return
                elif isinstance(event, StreamEnded):
                    return
            writer.write(link.data_to_send())
        answer.reset = not answer.headers

    sending = asyncio.create_task(send())
    try:
        async with asyncio.timeout(LIMIT_S):
            await receive()
    finally:
        sending.cancel()
        writer.close()
    return answer


@dataclass(frozen=True)
class Shop:
    system: System

    @property
    def port(self) -> int:
        return self.system.ports["edge"]

    @property
    def address(self) -> str:
        return self.system.ports.address("edge")

    @contextlib.contextmanager
    def locked(self, *tables: str) -> Iterator[None]:
        """Makes every statement on these tables wait."""
        url = self.system.database.admin_url_of(TRIAL_DATABASE)
        with psycopg.connect(url) as admin:
            admin.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
            yield
            admin.rollback()

    def client(self, **options: Any) -> httpx.AsyncClient:
        """Returns a client that speaks HTTP/1.1 to the edge, or HTTP/2 with `http2=True`."""
        if options.get("http2"):
            options["http1"] = False
        return httpx.AsyncClient(base_url=self.system.url, trust_env=False, timeout=LIMIT_S, **options)

    def token(self, kind: Any, number: int) -> str:
        """Returns the Authorization header of a customer or a partner."""
        signer = TokenSigner(key_pair(self.system.folder.keys).private.read_bytes())
        return f"Bearer {signer.sign(Principal(kind, number))}"

    async def exchange(self, headers: Sequence[Header], *chunks: bytes, pause_s: float = 0.0) -> Answer:
        return await exchange(self.port, headers, *chunks, pause_s=pause_s)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups the tests by topology, so that each starts once."""
    places = [place for place, item in enumerate(items) if item.path.parent == FOLDER and shop_of(item)]
    ours = sorted((items[place] for place in places), key=shop_of)
    for place, item in zip(places, ours, strict=True):
        items[place] = item


def shop_of(item: Any) -> str:
    """Returns the name of the topology of a test; empty for none."""
    return str(item.callspec.params.get("shop", "")) if hasattr(item, "callspec") else ""


@pytest.fixture(scope="session")
def ports(free_ports: Callable[[], Ports]) -> Ports:
    return free_ports()


@pytest.fixture(scope="session")
def folder(ports: Ports, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """The folder of all topologies, which share one database."""
    made = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("run"))
    yield made
    remove_cluster(made)


@pytest.fixture(scope="session", params=["rest", "hybrid-transcoded", "rest@kong"])
def shop(request: pytest.FixtureRequest, ports: Ports, folder: RunFolder) -> Iterator[Shop]:
    """A running topology, with Envoy unless the test says `@kong`.

    A test with more parameters needs `scope="session"`, or else its topology starts for it alone.
    """
    name, _, edge = request.param.partition("@")
    if edge == "kong" and KONG is None:
        pytest.skip(NO_KONG)
    updates = "on" if name in names(updates="on") else "off"
    switches = Switches(edge=edge or "envoy", updates=updates)
    with System(load_topology(name, updates=updates), switches, ports, "edge", folder=folder) as system:
        yield Shop(system)
