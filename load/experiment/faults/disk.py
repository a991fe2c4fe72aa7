"""The database's volume is full: its data lie on a file system in memory, which shrinks to what is used of it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg

from experiment.errors import UsageError
from experiment.faults.strike import LASTS_S, Strike, Wait
from mesh.components.postgres import POSTGRES
from mesh.components.postgres_owner import open_cluster
from mesh.native.system import System
from mesh.supervisor.process_record import RunLock

DATA, WAL = "postgres-data", "postgres-wal"
VOLUMES = (DATA, WAL)
"""What there is no room for: further pages of tables, or further segments of the write-ahead log."""
ROOM = 2**31
"""Bytes that the volume has but for the fault; it takes memory for what is used of them only."""
TRIES, LIMIT_S = 10, 10
CLONE_NEWNS = 0x00020000
"""Of Linux' sched.h: a mount namespace of one's own."""


def no_volumes() -> str:
    """Says that this user may not mount, if that is so."""
    needed = "root on Linux, with the right to mount (CAP_SYS_ADMIN)"
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or (unshare := shutil.which("unshare")) is None:
        return needed
    done = subprocess.run([unshare, "--mount", "true"], capture_output=True, check=False, timeout=LIMIT_S)  # noqa: S603
    return "" if done.returncode == 0 else needed


@contextmanager
def on_small_volume(system: System, target: str) -> Iterator[tuple[System, Strike]]:
    """Puts the database's data on a volume of their own, and prepares that it has no room left.

    Args:
        system: The system, which has not begun; its data are made anew, and gone when it has ended.
        target: One of `VOLUMES`.
    """
    lock = RunLock(system.folder)
    lock.acquire()
    try:
        place = open_cluster(system.folder).data.parent
    finally:
        lock.release()
    _see_own_mounts()
    _mount("-t", "tmpfs", "-o", f"size={ROOM}", "hopwise", str(place))
    try:
        yield system, (_no_page if target == DATA else _no_segment)(system, place)
    finally:
        _run("umount", str(place))


def _no_page(system: System, volume: Path) -> Strike:
    def strike(wait: Wait) -> None:
        with _connected(system) as connection:
            # Leaves segments that are used again, so that it is tables that find no room.
            connection.execute("CHECKPOINT")
        with _full(volume):
            wait(LASTS_S)

    return strike


def _no_segment(system: System, volume: Path) -> Strike:
    def strike(_: Wait) -> None:
        until = time.monotonic() + LASTS_S
        with _full(volume):
            with suppress(psycopg.Error), _connected(system) as connection:
                while time.monotonic() < until:  # a server without room for its log ends itself
                    connection.execute("SELECT pg_logical_emit_message(true, 'hopwise', ''), pg_switch_wal()")
            # Not by `wait`, which would end the run with the server.
            time.sleep(max(0.0, until - time.monotonic()))
        system.kill(POSTGRES)
        system.restart(POSTGRES)

    return strike


@contextmanager
def _full(volume: Path) -> Iterator[None]:
    """Leaves a volume no room while the context lasts."""
    for _ in range(TRIES):  # what is used may have grown meanwhile
        now = os.statvfs(volume)
        with suppress(UsageError):
            _mount("-o", f"remount,size={(now.f_blocks - now.f_bfree) * now.f_frsize}", str(volume))
            break
    else:
        raise UsageError(f"faults=disk-full: {volume} cannot be made smaller")
    try:
        yield
    finally:
        _mount("-o", f"remount,size={ROOM}", str(volume))


def _connected(system: System) -> closing[psycopg.Connection]:
    return closing(psycopg.connect(system.database.admin_url, autocommit=True, connect_timeout=5))


def _see_own_mounts() -> None:
    """Has this process and those that it starts mount for themselves, so that no mount outlives them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise UsageError(f"faults=disk-full: no mounts of one's own: {os.strerror(ctypes.get_errno())}")
    _mount("--make-rprivate", "/")


def _mount(*arguments: str) -> None:
    _run("mount", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603
    if done.returncode != 0:
        raise UsageError(f"faults=disk-full: `{' '.join(command)}` fails: {done.stderr.strip()}")
