"""The fault `disk-full`: the database's volume, an in-memory file system, shrinks to the size that is already used."""

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
"""Targets: a volume with no room for further table pages, or for further segments of the write-ahead log."""
ROOM = 2**31
"""Size of the volume without the fault, in bytes; only used bytes occupy memory."""
TRIES, LIMIT_S = 10, 10
CLONE_NEWNS = 0x00020000
"""Flag of Linux's sched.h: a new mount namespace."""


def no_volumes() -> str:
    """Returns the permission needed to mount volumes, or an empty string if this user has the permission."""
    needed = "root on Linux, with permission to mount (CAP_SYS_ADMIN)"
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or (unshare := shutil.which("unshare")) is None:
        return needed
    done = subprocess.run([unshare, "--mount", "true"], capture_output=True, check=False, timeout=LIMIT_S)  # noqa: S603
    return "" if done.returncode == 0 else needed


@contextmanager
def on_small_volume(system: System, target: str) -> Iterator[tuple[System, Strike]]:
    """Puts the data of a system that has not started on a new volume, and prepares to fill it up."""
    lock = RunLock(system.folder)
    lock.acquire()
    try:
        place = open_cluster(system.folder).data.parent
    finally:
        lock.release()
    _separate_mounts()
    _mount("-t", "tmpfs", "-o", f"size={ROOM}", "hopwise", str(place))
    try:
        yield system, (_no_page if target == DATA else _no_segment)(system, place)
    finally:
        _run("umount", str(place))


def _no_page(system: System, volume: Path) -> Strike:
    def strike(wait: Wait) -> None:
        with _connect(system) as connection:
            # A checkpoint leaves log segments that can be reused, so that tables run out of room first.
            connection.execute("CHECKPOINT")
        with _fill(volume):
            wait(LASTS_S)

    return strike


def _no_segment(system: System, volume: Path) -> Strike:
    def strike(_: Wait) -> None:
        until = time.monotonic() + LASTS_S
        with _fill(volume):
            with suppress(psycopg.Error), _connect(system) as connection:
                while time.monotonic() < until:  # a server that has no room for its log terminates
                    connection.execute("SELECT pg_logical_emit_message(true, 'hopwise', ''), pg_switch_wal()")
            # Not `wait`, which would end the run because the server has terminated.
            time.sleep(max(0.0, until - time.monotonic()))
        system.kill(POSTGRES)
        system.restart(POSTGRES)

    return strike


@contextmanager
def _fill(volume: Path) -> Iterator[None]:
    """Fills a volume while the context lasts."""
    for _ in range(TRIES):  # the used size may have grown between the two calls
        now = os.statvfs(volume)
        with suppress(UsageError):
            _mount("-o", f"remount,size={(now.f_blocks - now.f_bfree) * now.f_frsize}", str(volume))
            break
    else:
        raise UsageError(f"faults=disk-full: the volume {volume} cannot be made smaller")
    try:
        yield
    finally:
        _mount("-o", f"remount,size={ROOM}", str(volume))


def _connect(system: System) -> closing[psycopg.Connection]:
    return closing(psycopg.connect(system.database.admin_url, autocommit=True, connect_timeout=5))


def _separate_mounts() -> None:
    """Gives this process and its children a separate mount namespace, so that no mount outlives them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise UsageError(f"faults=disk-full: cannot make a separate mount namespace: {os.strerror(ctypes.get_errno())}")
    _mount("--make-rprivate", "/")


def _mount(*arguments: str) -> None:
    _run("mount", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603
    if done.returncode != 0:
        raise UsageError(f"faults=disk-full: `{' '.join(command)}` failed: {done.stderr.strip()}")
