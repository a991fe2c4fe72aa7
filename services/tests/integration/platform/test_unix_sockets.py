"""Servers on Unix domain sockets, and calls that go to a socket instead of an address."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

from puppet import POT, Puppet, serving
from served_shop import SCHEMES
from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.errors import Unavailable
from shop.platform.config import StartError
from shop.platform.deadline import deadline
from shop.values.product import Product

# Nothing answers at this host name, so calls arrive only if they go to the socket.
AUTHORITY = "product.mesh.local:18020"


@pytest.fixture(params=["graphql", "grpc", "rest"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path() -> Iterator[str]:
    """The path of a socket, short enough, with characters that have a meaning in a URI."""
    with tempfile.TemporaryDirectory(prefix="shop é?#%41-") as folder:
        yield f"{folder}/product.sock"


@pytest.fixture
def precious(path: str) -> Iterator[None]:
    """A file that is not a socket is in the socket's place, and must stay there."""
    Path(path).write_text("precious")
    yield
    assert Path(path).read_text() == "precious"


def is_socket(path: str) -> bool:
    return Path(path).is_socket()


@contextlib.asynccontextmanager
async def calling(protocol: str, path: str) -> AsyncIterator[Clients]:
    address = f"{SCHEMES[protocol]}://{AUTHORITY}"
    async with connect({"product": address}, "test", {"product": path}) as clients:
        yield clients


async def test_spans_name_the_authority(protocol: str, path: str, traces: Any) -> None:
    async with serving(protocol, Puppet(), f"unix:{path}", traces.runtime), calling(protocol, path) as clients:
        await clients.product.get_product(1)  # the first of a GraphQL operation is sent twice
        with traces.journey() as root:
            await clients.product.get_product(1)
        await asyncio.sleep(0.05)
    caller, callee = (span for span in traces.of(root) if span.kind.name in ("CLIENT", "SERVER"))
    assert (caller.attributes["server.address"], caller.attributes["server.port"]) == ("product.mesh.local", 18020)
    assert callee.parent.span_id == caller.context.span_id


async def test_requests_carry_the_authority(protocol: str, path: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(5)
        listener.bind(path)
        listener.listen()
        authority = asyncio.create_task(asyncio.to_thread(authority_of_first_request, listener, protocol))
        async with calling(protocol, path) as clients:
            with contextlib.suppress(Unavailable), deadline(2):
                await clients.product.get_product(1)
        assert await authority == AUTHORITY


def authority_of_first_request(listener: socket.socket, protocol: str) -> str:
    """Takes one connection and refuses all others, so that none is half accepted when the test ends."""
    connection, _ = listener.accept()
    listener.close()
    with connection:
        connection.settimeout(5)
        if protocol != "grpc":
            lines = connection.recv(65536).decode().splitlines()
            return next(line for line in lines if line.startswith("Host: "))[6:]
        link = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        link.initiate_connection()
        while True:
            for event in link.receive_data(connection.recv(65536)):
                if isinstance(event, RequestReceived):
                    return dict(event.headers)[":authority"]
            connection.sendall(link.data_to_send())


async def test_socket_in_use_is_reported_clearly_and_stays(protocol: str, path: str) -> None:
    async with serving(protocol, Puppet(), f"unix:{path}") as address, calling(protocol, path) as clients:
        assert address == f"unix:{path}"
        with pytest.raises(StartError, match="Address already in use") as refusal:
            async with serving(protocol, Puppet(), f"unix:{path}"):
                pass
        assert f"unix:{path}" in str(refusal.value)
        assert await clients.product.get_product(1) == POT


@pytest.mark.usefixtures("precious")
async def test_file_that_is_no_socket_stays(protocol: str, path: str) -> None:
    with pytest.raises(StartError, match="file of another kind"):
        async with serving(protocol, Puppet(), f"unix:{path}"):
            pass


async def test_missing_folder_is_reported_clearly(protocol: str, path: str) -> None:
    with pytest.raises(StartError, match="No such file or directory; the folder must exist"):
        async with serving(protocol, Puppet(), f"unix:{path}/none/product.sock"):
            pass


async def test_call_under_way_is_answered_before_the_stop_and_the_next_process_keeps_its_socket(
    protocol: str, path: str
) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def act() -> Product:
        began.set()
        await go_on.wait()
        return POT

    async with calling(protocol, path) as clients, contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(serving(protocol, Puppet(act), f"unix:{path}"))
        last = asyncio.ensure_future(clients.product.get_product(1))
        await began.wait()
        stopping = asyncio.ensure_future(stack.aclose())
        async with asyncio.timeout(5):
            while is_socket(path):  # noqa: ASYNC110 - nothing signals it
                await asyncio.sleep(0.01)
        async with serving(protocol, Puppet(), f"unix:{path}"):
            go_on.set()
            assert await last == POT
            await stopping
            async with asyncio.timeout(5):
                while True:
                    with contextlib.suppress(Unavailable):
                        assert await clients.product.get_product(1) == POT
                        break
                    await asyncio.sleep(0.05)
