"""No part of a row gets into the logs, after any database error and through any logger."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import grpc
import httpx
import psycopg
import pytest

from fuzz.wire import Sender, h2_request
from shop.contract.ports import UserClient
from shop.errors import Internal
from shop.platform.http.server import http_server
from shop.values.user import Address, User

Make = Callable[..., Awaitable[User]]
MARKER = "marker-of-a-person"
ADDRESS = Address(MARKER, "Street 1", "Berlin", "10115", "DE")
# Each of these fails with an error that has the marker: in PostgreSQL's DETAIL or message, or in asyncpg's own check.
STATEMENTS = {
    "the row that breaks a constraint": ("INSERT INTO broken VALUES (1, $1)", (MARKER,), "broken_check"),
    "a value of the wrong form": ("SELECT CAST($1::text AS uuid)", (MARKER,), "sqlstate 22P02"),
    "an argument of the wrong form": ("SELECT $1::uuid", (MARKER,), "sqlstate 22000"),
}


@pytest.fixture
def refuses_marker(admin: psycopg.Connection) -> Iterator[None]:
    """Makes the accounts table refuse a row with the marker."""
    admin.execute(f"ALTER TABLE shop_user.account ADD CONSTRAINT refuses CHECK (recipient <> '{MARKER}')")
    yield
    admin.execute("ALTER TABLE shop_user.account DROP CONSTRAINT refuses")


@pytest.mark.usefixtures("refuses_marker")
async def test_a_row_that_the_database_refuses_stays_out_of_the_log(user: UserClient, log: io.StringIO) -> None:
    with pytest.raises(Internal) as error:
        await user.create_user(
            email=f"{uuid.uuid4().hex}@example.com", name="Ada", address=ADDRESS, password="correct horse"
        )
    assert error.value.message == "internal error"
    said = log.getvalue()
    assert 'violates check constraint \\"refuses\\"' in said
    assert "asyncpg.exceptions.CheckViolationError" in said
    assert not any(secret in said for secret in (MARKER, "example.com", "argon2id", "DETAIL"))


async def broken(url: str, statement: str, arguments: tuple[Any, ...]) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("CREATE TEMPORARY TABLE broken (id int, v text CHECK (v = ''))")
        await connection.execute("ALTER TABLE broken RENAME CONSTRAINT broken_v_check TO broken_check")
        await (connection.execute(statement, *arguments) if arguments else connection.execute(statement))
    finally:
        await connection.close()


@asynccontextmanager
async def serving(answer: Any) -> AsyncIterator[int]:
    """Serves a method over gRPC without the shop's handlers; yields the port."""
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(answer)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", {"Ask": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield port
    await server.stop(None)


async def test_a_header_that_is_not_utf_8_stays_out_of_the_log(log: io.StringIO) -> None:
    async def echo(_: Any, context: grpc.aio.ServicerContext) -> bytes:
        return str(context.invocation_metadata()).encode()

    pseudo = {":method": "POST", ":scheme": "http", ":path": "/test/Ask", ":authority": "x", "te": "trailers"}
    headers = {**pseudo, "content-type": "application/grpc", "authorization": f"Bearer {MARKER}\xff"}
    call = h2_request([(name.encode(), value.encode("latin-1")) for name, value in headers.items()], bytes(5))
    async with serving(echo) as port:
        answer = await Sender(port).send("tcp-h2", call, 10.0)
    assert MARKER.encode() in answer.body
    assert log.getvalue() == ""


@pytest.mark.parametrize("case", STATEMENTS)
async def test_any_logger_leaves_it_out(case: str, shop_url: str, log: io.StringIO, free_address: str) -> None:
    statement, arguments, shown = STATEMENTS[case]

    async def fails(*_: Any) -> None:
        try:
            await broken(shop_url, statement, arguments)
        except Exception as error:
            raise RuntimeError("no error that the shop knows") from error

    # uvicorn, for an application that does not catch it.
    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        await fails()

    async with http_server(app, free_address) as address, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"http://{address}/")).status_code == 500
    # gRPC, for a method without a guard.
    options = [("grpc.enable_http_proxy", 0)]
    async with serving(fails) as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        with pytest.raises(grpc.aio.AioRpcError):
            await channel.unary_unary("/test/Ask")(b"")
    # asyncio, for a task that nothing awaits; and a log line that quotes an error, or a group of them.
    loop = asyncio.get_running_loop()
    error = await asyncio.gather(fails(), return_exceptions=True)
    loop.call_exception_handler({"message": "lost", "exception": error[0]})
    cause = error[0].__cause__
    logging.getLogger("shop").error(
        "it failed: %s", (await asyncio.gather(fails(), return_exceptions=True))[0].__cause__
    )
    logging.getLogger("shop").error((await asyncio.gather(fails(), return_exceptions=True))[0].__cause__)
    logging.getLogger("shop").error("all failed", exc_info=ExceptionGroup("all", [error[0], cause]))

    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    loggers = {line["logger"] for line in lines}
    assert {"uvicorn.error", "grpc._cython.cygrpc", "asyncio", "shop"} <= loggers
    assert MARKER not in log.getvalue()
    assert "DETAIL" not in log.getvalue()
    assert shown in log.getvalue()
