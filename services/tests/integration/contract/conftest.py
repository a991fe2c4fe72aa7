"""The tested program as a process, with our own services if the program calls any."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import psutil
import psycopg
import pytest
from anyio.from_thread import start_blocking_portal

from conforming import ProgramUnderTest, conforming
from mesh.components.shop_processes import CONTRACT, arguments_of
from mesh.supervisor.processes import PASSED_ON, guard
from shop.platform.access.jwt import Principal, TokenSigner

from .components import COMPONENTS, GATEWAYS, OVER, ComponentContract, Rows, insert_rows
from .doors import Door, Headers

PROGRAM = conforming()
LIMITS = PROGRAM or ProgramUnderTest
START_S, STOP_S = LIMITS.start_s, LIMITS.stop_s
"""Seconds that a component may take until it answers, and to end."""
PRINTED = ".out"
"""Suffix of the file with the program's standard output."""
LEFT_S = 5.0
"""Seconds by which processes that a component has started may outlive the component."""
Start = Callable[..., contextlib.AbstractContextManager["RunningProgram"]]


def asked_of(program: ProgramUnderTest) -> list[str]:
    """Returns the rows of the protocols over which a program is tested."""
    if program.component in GATEWAYS:
        return [program.component]
    rows = [program.component if one == "grpc" else OVER % (program.component, one) for one in program.protocols]
    return [row for row in rows if row in COMPONENTS]


ROWS = list(COMPONENTS) if PROGRAM is None else asked_of(PROGRAM)


@pytest.fixture(scope="module", params=ROWS)
def contracted(request: pytest.FixtureRequest) -> ComponentContract:
    """The component under test; every law is tested with each of our components, or with the program's component."""
    return COMPONENTS[request.param]


@pytest.fixture
def same_code(contracted: ComponentContract) -> None:
    """Restricts laws that our components obey through the same code to two of them, which represent all."""
    if PROGRAM is None and (contracted.component not in ("product", "rest-gateway") or contracted.over):
        pytest.skip("product and rest-gateway run the same code")


@pytest.fixture(scope="package")
def peers(
    role_url: Callable[[str], str], started_shop: Callable[..., Any], session_traces: Any
) -> Iterator[dict[str, str]]:
    """Addresses of our services, in this process; they stop before other tests, so that they keep no connections."""
    shop = started_shop(role_url, lambda _: "grpc", pool=2, ours=True)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(shop) as addresses:
        yield addresses


@pytest.fixture(scope="module")
def minimal(
    contracted: ComponentContract, role_url: Callable[[str], str], keys: Any, request: pytest.FixtureRequest
) -> dict[str, str]:
    """The minimal settings of the program, without its address."""
    name = contracted.component
    minimal = {"SHOP_COMPONENT": name, "SHOP_CONTRACT": CONTRACT, "SHOP_JWT_PUBLIC_KEY_FILE": str(keys.public_file)}
    if not contracted.is_gateway:
        minimal |= {"SHOP_DATABASE_URL": role_url(name), "SHOP_DATABASE_POOL": "2"}
    if name == "user":
        minimal["SHOP_JWT_PRIVATE_KEY_FILE"] = str(keys.private_file)
    addresses = request.getfixturevalue("peers") if contracted.peers else {}
    return minimal | {f"SHOP_PEER_{peer.upper()}": addresses[peer] for peer in contracted.peers}


@pytest.fixture
def settings(contracted: ComponentContract, minimal: dict[str, str], free_address: str) -> dict[str, str]:
    """The settings of a program that this test starts."""
    return minimal | {contracted.listens: free_address}


@dataclass
class RunningProgram:
    """The program as a separate process, which leads a separate group; its standard error is in `log`."""

    component: str
    command: tuple[str, ...]
    process: subprocess.Popen[bytes]
    log: Path
    door: Door
    target: str

    def wait_until_serving(self) -> None:
        """Returns once the program answers; fails with its messages if it ends instead, or answers too late."""
        until = time.monotonic() + START_S
        while not self.door.serves():
            if self.process.poll() is not None:
                self.fail(f"ended with exit code {self.process.returncode} instead of serving")
            if time.monotonic() > until:
                self.fail(f"did not answer its health check within {START_S:g} s")
            time.sleep(0.02)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """Sends the program a signal; returns its messages when it has ended with success."""
        self.process.send_signal(number)
        return self.wait_for_end()

    def wait_for_end(self) -> str:
        """Returns the program's messages when it has ended with success; fails if it ends in another way."""
        code = self.exit_code(STOP_S, f"did not end within {STOP_S:g} s of the signal")
        if code:
            self.fail(f"ended with exit code {code} after the signal")
        return self.messages()

    def exit_code(self, limit_s: float, late: str) -> int:
        """Returns the program's exit code; fails with `late` if it does not end in time, or leaves a process behind."""
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.fail(late)
        until = time.monotonic() + LEFT_S
        while left := self._survivors():
            if time.monotonic() > until:
                self.fail(f"left a process behind: {left[0]}")
            time.sleep(0.05)
        return code

    def _survivors(self) -> list[str]:
        """Returns the command lines of the processes in the program's group that survive its end."""
        every = psutil.process_iter(["cmdline", "status"])
        alive = (one for one in every if one.info["status"] != psutil.STATUS_ZOMBIE)
        return [shlex.join(one.info["cmdline"] or ["?"]) for one in alive if _group(one.pid) == self.process.pid]

    def messages(self) -> str:
        """Returns the program's messages on standard error so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def fail(self, what: str) -> NoReturn:
        """Fails the test, with component and command, and the end of the program's messages."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        printed = self.log.with_suffix(PRINTED).read_text(encoding="utf-8", errors="replace")
        said = self.messages()[-2000:].strip() or printed[-2000:].strip() or "nothing"
        pytest.fail(f"{self.component} (command: {shlex.join(self.command)}) {what}; it said: {said}", pytrace=False)


def _group(pid: int) -> int:
    """Returns the group of a process; 0 if it has ended."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


@pytest.fixture(scope="module")
def start(contracted: ComponentContract, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Starts the program with these settings; at the end, the program and its child processes are killed."""
    ours = (sys.executable, *arguments_of(contracted.component, measured=True))
    command = PROGRAM.command if PROGRAM else ours
    folder = tmp_path_factory.mktemp("logs")

    def running(
        settings: Mapping[str, str], stdin: int = subprocess.DEVNULL
    ) -> contextlib.AbstractContextManager[RunningProgram]:
        target = settings.get(contracted.listens) or "127.0.0.1:9"
        return run_program(contracted, command, settings, target, folder / uuid.uuid4().hex, stdin)

    return running


@contextlib.contextmanager
def run_program(
    contracted: ComponentContract,
    command: tuple[str, ...],
    settings: Mapping[str, str],
    target: str,
    log: Path,
    stdin: int = subprocess.DEVNULL,
) -> Iterator[RunningProgram]:
    """Runs a program until the context ends, and kills what is left of its group."""
    # Files instead of pipes, because a leftover process would keep pipes open.
    with log.open("wb") as file, log.with_suffix(PRINTED).open("wb") as printed:
        process = subprocess.Popen(
            guard(command, signal.SIGKILL),
            env={**{name: os.environ[name] for name in PASSED_ON if name in os.environ}, **settings},
            stdin=stdin,
            stdout=printed,
            stderr=file,
            start_new_session=True,
        )
    door = contracted.door(target)
    try:
        yield RunningProgram(contracted.component, command, process, log, door, target)
    finally:
        door.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def shared(
    contracted: ComponentContract, start: Start, minimal: dict[str, str], free_addresses: Callable[[], str]
) -> Iterator[RunningProgram]:
    with start(minimal | {contracted.listens: free_addresses()}) as program:
        program.wait_until_serving()
        yield program


@pytest.fixture
def serving(shared: RunningProgram) -> Iterator[RunningProgram]:
    """The program, serving; it must live to the end of the test."""
    yield shared
    if shared.process.poll() is not None:
        shared.fail(f"died during a test, with exit code {shared.process.returncode}")


@pytest.fixture
def rows(admin: psycopg.Connection) -> Rows:
    return insert_rows(admin)


@pytest.fixture
def bearer(signer: TokenSigner) -> Callable[..., Headers]:
    """Returns the header with a token of a kind and number."""
    return lambda kind, number=1, **how: {"authorization": f"Bearer {signer.sign(Principal(kind, number), **how)}"}


@pytest.fixture
def allowed(contracted: ComponentContract, bearer: Callable[..., Headers]) -> Headers:
    """Headers of a caller who may do everything: a partner's headers, or no headers for a call from inside."""
    return bearer("partner") if contracted.is_gateway else {}
