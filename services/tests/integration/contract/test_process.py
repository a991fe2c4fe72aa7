"""Start and end of a component, in any language (docs/system/your-component.md)."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import socket
import subprocess
import termios
import threading
import time
from array import array
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

import grpc
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from shop.platform.deadline import DEADLINE_HEADER

from .components import ComponentContract, Rows
from .conftest import PROGRAM, START_S, RunningProgram, Start
from .doors import LIMIT_S, Answer, Door, GrpcDoor, Headers

WRONG = [
    ("SHOP_LISTEN_*", ""),
    ("SHOP_LISTEN_*", "nowhere"),
    ("SHOP_COMPONENT", "somebody-else"),
    ("SHOP_DATABASE_URL", ""),
    ("SHOP_DATABASE_POOL", "none"),
    ("SHOP_EDGE_IDENTITY", "edge"),
    ("SHOP_JWT_PUBLIC_KEY_FILE", "/no/file"),
    ("SHOP_JWT_PRIVATE_KEY_FILE", ""),
    ("SHOP_PEER_ORDER", ""),
    ("SHOP_PEER_ORDER", "nowhere"),
]
OF_SERVICES, OF_GATEWAYS = ("SHOP_DATABASE_URL", "SHOP_DATABASE_POOL"), ("SHOP_PEER_ORDER",)


def run_to_end(start: Start, settings: dict[str, str]) -> tuple[int, str]:
    """Returns the exit code and the messages of a program that cannot start."""
    with start(settings) as program:
        code = program.exit_code(START_S, f"did not end within {START_S:g} s, as it should with these settings")
        return code, program.messages()


@pytest.mark.usefixtures("same_code")
def test_waits_for_the_end_of_its_standard_input(
    start: Start, settings: dict[str, str], contracted: ComponentContract
) -> None:
    if contracted.is_gateway:
        pytest.skip("a gateway does not wait: it has no database")
    with start(settings | {"SHOP_AWAIT_STDIN": "on"}, stdin=subprocess.PIPE) as program:
        stdin = program.process.stdin
        # A program that waits for the end of its input reads everything before the end, also after the first byte.
        for _ in range(2):
            stdin.write(b"\n")
            stdin.flush()
            wait_until_read(program, stdin)
        assert not program.door.serves()
        stdin.close()
        program.process.stdin = None
        program.wait_until_serving()


@pytest.mark.usefixtures("same_code")
def test_listens_on_a_socket_and_takes_the_place_of_a_stale_one(
    start: Start, settings: dict[str, str], contracted: ComponentContract, tmp_path: Path
) -> None:
    path = tmp_path / "c.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    with start(settings | {contracted.listens: f"unix:{path}"}) as program:
        program.wait_until_serving()


@pytest.mark.parametrize(("variable", "value"), WRONG)
def test_a_wrong_setting_is_named(
    start: Start,
    settings: dict[str, str],
    contracted: ComponentContract,
    variable: str,
    value: str,
    request: pytest.FixtureRequest,
) -> None:
    if variable != "SHOP_JWT_PRIVATE_KEY_FILE":
        request.getfixturevalue("same_code")
    variable = contracted.listens if variable == "SHOP_LISTEN_*" else variable
    if variable in (OF_SERVICES if contracted.is_gateway else OF_GATEWAYS):
        pytest.skip(f"{contracted.component} does not get {variable}")
    if variable == "SHOP_JWT_PRIVATE_KEY_FILE" and contracted.component != "user":
        pytest.skip("only user signs tokens")
    code, said = run_to_end(start, settings | {variable: value})
    wanted = f"with {variable}={value} it should end with 2 and a line `error:` that names the variable: {code}, {said}"
    assert (code, variable in said) == (2, True), wanted
    assert [line for line in said.splitlines() if line.startswith("error:")], wanted
    assert PROGRAM or said.count("\n") == 1, "ours says nothing else"


@pytest.mark.usefixtures("same_code")
def test_a_missing_database_ends_it_without_showing_the_password(
    start: Start, settings: dict[str, str], contracted: ComponentContract
) -> None:
    if contracted.is_gateway:
        pytest.skip("a gateway has no database")
    url = settings["SHOP_DATABASE_URL"]
    code, said = run_to_end(start, settings | {"SHOP_DATABASE_URL": f"{url.rpartition('/')[0]}/not_yet"})
    assert code == 1, said
    assert "not_yet" in said
    assert url.partition("@")[0].rpartition(":")[2] not in said


@pytest.mark.ours
def test_a_gateway_serves_without_its_services(
    start: Start, settings: dict[str, str], contracted: ComponentContract, rows: Rows, allowed: Headers
) -> None:
    if not contracted.is_gateway:
        pytest.skip("a service does not start without its database")
    away = dict.fromkeys((name for name in settings if name.startswith("SHOP_PEER_")), "grpc://127.0.0.1:9")
    with start(settings | away) as program:
        program.wait_until_serving()
        headers = {**allowed, DEADLINE_HEADER: "2000"}
        answer = program.door.ask(contracted.read.name, contracted.read.content(rows), headers)
        assert (answer.code, program.door.serves()) == ("UNAVAILABLE", True)
        assert "Traceback" not in program.stop()


@pytest.mark.usefixtures("same_code")
def test_a_call_under_way_is_answered_although_the_process_stops(
    start: Start,
    settings: dict[str, str],
    contracted: ComponentContract,
    admin: psycopg.Connection,
    rows: Rows,
    allowed: Headers,
) -> None:
    with start(settings) as program, ThreadPoolExecutor(1) as other:
        program.wait_until_serving()
        with admin.transaction():
            lock(admin, contracted, rows)
            held = contracted.held
            call = other.submit(program.door.ask, held.name, held.content(rows), allowed)
            wait_until_one_waits(admin, call)
            program.process.send_signal(signal.SIGTERM)
            wait_until_leaving(program, contracted.door(program.target))
        assert call.result(timeout=LIMIT_S).code == ""
        program.door.close()
        program.wait_for_end()


@pytest.mark.usefixtures("same_code")
def test_watchers_of_its_health_learn_that_it_stops(start: Start, settings: dict[str, str]) -> None:
    with start(settings) as program:
        if not isinstance(program.door, GrpcDoor):
            pytest.skip("health is watched over gRPC")
        program.wait_until_serving()
        health = health_pb2_grpc.HealthStub(program.door.channel)
        watch = health.Watch(health_pb2.HealthCheckRequest(), timeout=LIMIT_S)
        try:
            assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
            program.process.send_signal(signal.SIGTERM)
            assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                pytest.skip("its health cannot be watched")
            raise AssertionError("it ended without a word that it is NOT_SERVING any more") from error
        watch.cancel()
        program.wait_for_end()


@pytest.mark.usefixtures("same_code")
async def test_clients_are_asked_to_reconnect(start: Start, settings: dict[str, str]) -> None:
    with start(settings | {"SHOP_CONNECTION_AGE_S": "1"}) as program:
        if not isinstance(program.door, GrpcDoor):
            pytest.skip("clients of HTTP get no such request")
        program.wait_until_serving()
        # A blocking channel reports its state from a thread, which may outlive the channel and then fail another test.
        async with grpc.aio.insecure_channel(program.target, GrpcDoor.options(program.component)) as channel:
            await assert_serves(channel)
            try:
                async with asyncio.timeout(LIMIT_S):
                    while (state := channel.get_state()) is not grpc.ChannelConnectivity.IDLE:
                        await channel.wait_for_state_change(state)
            except TimeoutError:
                pytest.fail("a connection outlives SHOP_CONNECTION_AGE_S")
            await assert_serves(channel)


async def assert_serves(channel: grpc.aio.Channel) -> None:
    answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=LIMIT_S)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def wait_until_read(program: RunningProgram, pipe: IO[bytes]) -> None:
    """Returns once a program has read everything in a pipe; fails if the program serves or ends instead."""
    until, unread = time.monotonic() + START_S, array("i", [1])
    while unread[0]:
        assert program.process.poll() is None, f"{program.component} ended before its standard input did"
        assert not program.door.serves(), f"{program.component} serves before the end of its standard input"
        assert time.monotonic() < until, f"{program.component} does not read its standard input"
        time.sleep(0.02)
        fcntl.ioctl(pipe, termios.FIONREAD, unread)


def wait_until_leaving(program: RunningProgram, newcomer: Door) -> None:
    """Returns once a new client learns, in any way, that the program no longer serves new clients."""
    until = time.monotonic() + LIMIT_S
    while newcomer.serves():
        assert time.monotonic() < until, f"{program.component} still serves new clients after SIGTERM"
        time.sleep(0.02)
    newcomer.close()


def lock(admin: psycopg.Connection, contracted: ComponentContract, rows: Rows) -> None:
    """Locks the row for which the component's `held` call waits, until the transaction ends."""
    table, which = contracted.table
    admin.execute(f"SELECT FROM {table} WHERE id = %s FOR UPDATE".encode(), [getattr(rows, which)])


def wait_until_one_waits(admin: psycopg.Connection, call: Future[Answer]) -> None:
    """Returns once exactly one statement, the call's, waits for a lock."""
    pause, waiting = threading.Event(), 0
    for _ in range(LIMIT_S * 20):
        (waiting,) = admin.execute("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted").fetchone() or (0,)
        if waiting == 1:
            return
        if call.done():
            raise AssertionError(f"a change of a locked row was answered: {call.result()}")
        pause.wait(0.05)
    raise AssertionError(f"{waiting} statements wait for a lock instead of one")
