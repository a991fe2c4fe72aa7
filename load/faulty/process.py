"""Faults in how a process starts and ends."""

from __future__ import annotations

import io
import subprocess
import sys
from asyncio import Event
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from socket import socket
from typing import Any, cast

import grpc.aio
from grpc_health.v1 import health

from faulty.seeds import Fault, call_before, change_arguments, change_error, change_result, replace, set_constant
from shop.platform.config import StartError
from shop.platform.database.pool import connect_database
from shop.platform.process.lifecycle import launch, leave, stop_signal
from shop.platform.process.unix_socket import bind_unix

START_AND_STOP = "answers_until_ctrl_c_and_ends_with_exit_code_0"


class _ImpatientServer:
    """A server that aborts its calls when it stops."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    async def stop(self, _grace: float | None) -> None:
        await self._server.stop(0)


@asynccontextmanager
async def _ignore_signals() -> AsyncIterator[Event]:
    async with stop_signal():
        yield Event()


async def _stay_healthy(_self: health.aio.HealthServicer) -> None: ...


def _show_url(error: Exception, given: Mapping[str, Any]) -> Exception:
    return StartError(f"{error}: {given['url']}")


def _refuse_any_file(path: str) -> socket:
    if Path(path).exists():
        raise StartError(f"cannot listen on unix:{path}: it is there")
    return bind_unix(path)


FAULTS = (
    Fault(
        "calls in progress are aborted at the end",
        "a_call_under_way_is_answered_although_the_process_stops",
        change_result(grpc.aio.server, lambda server: cast(grpc.aio.Server, _ImpatientServer(server))),
    ),
    Fault(
        "it does not say that it is about to end",
        "watchers_of_its_health_learn_that_it_stops",
        replace(health.aio.HealthServicer.enter_graceful_shutdown, _stay_healthy),
    ),
    Fault(
        "clients keep their connections forever",
        "clients_are_asked_to_reconnect",
        change_arguments(
            grpc.aio.server,
            options=lambda given: [one for one in given or () if one[0] != "grpc.max_connection_age_ms"],
        ),
    ),
    Fault(
        "it leaves a process behind",
        START_AND_STOP,
        call_before(launch, lambda: subprocess.Popen(["/bin/sleep", "60"])),
    ),
    Fault("it never ends", START_AND_STOP, replace(stop_signal, _ignore_signals)),
    Fault(
        "it does not wait for its standard input",
        "waits_for_the_end_of_its_standard_input",
        set_constant(sys, "stdin", io.StringIO()),
    ),
    Fault("it ends with exit code 143", START_AND_STOP, change_arguments(leave, code=lambda code: code or 143)),
    Fault(
        "a stale socket keeps it from starting",
        "listens_on_a_socket_and_takes_the_place_of_a_stale_one",
        replace(bind_unix, _refuse_any_file),
    ),
    Fault(
        "it accepts any version of the contract",
        "speaks_this_version_of_the_contract_and_no_other",
        change_arguments(launch, env=lambda env: {**env, "SHOP_CONTRACT": "1"}),
    ),
    Fault(
        "it speaks another version of the contract",
        START_AND_STOP,
        change_arguments(launch, env=lambda env: {**env, "SHOP_CONTRACT": "2"}),
    ),
    Fault(
        "the message contains the password",
        "a_missing_database_ends_it_without_showing_the_password",
        change_error(connect_database, _show_url),
    ),
)
