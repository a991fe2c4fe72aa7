"""Runs the embedded database as another user: `python as_user.py UID ROOT BASE`, run by root; prints which users may
connect."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

import psycopg

from mesh.components.postgres import database
from mesh.description.ports import load_ports
from mesh.native.database_run import database_run
from mesh.paths import RunFolder, postgres_programs

if __name__ == "__main__":
    uid, root, base = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    ports = load_ports({"SHOP_PORT_BASE": base})
    # Later imports must not need files that only root may read, so a first connection imports the remaining modules.
    postgres_programs()
    with contextlib.suppress(OSError, psycopg.OperationalError):
        socket.create_connection(("127.0.0.1", ports["postgres"]), timeout=5)
    with contextlib.suppress(psycopg.OperationalError):
        psycopg.connect(f"postgresql://{ports.address('postgres')}", connect_timeout=5)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    folder = RunFolder.of(ports.base, root)
    db = database(ports, {}, folder)
    with database_run(db, ports, folder) as started:
        pid = started.pids()["postgres"][0]
        assert os.stat(f"/proc/{pid}").st_uid == uid
        assert not folder.postgres.is_symlink()
        with psycopg.connect(db.admin_url) as connection:
            print(connection.execute("SELECT 'the owner'").fetchone()[0])  # type: ignore[index]
        try:
            psycopg.connect(f"postgresql://postgres@{ports.address('postgres')}/postgres", connect_timeout=5)
        except psycopg.OperationalError as error:
            print(error)
