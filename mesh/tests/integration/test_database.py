"""The embedded PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from mesh.database import database
from mesh.errors import StartError
from mesh.paths import RunFolder
from mesh.ports import Ports
from mesh.system import DatabaseRun, open_database

pytestmark = pytest.mark.integration


def run(ports: Ports, folder: RunFolder) -> DatabaseRun:
    return DatabaseRun(database(ports, {}), ports, folder)


def test_data_outlive_the_run(ports: Ports, folder: RunFolder) -> None:
    url = database(ports, {}).admin_url
    with run(ports, folder) as first, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 17 AS x")
        assert [timing.component for timing in first.timings] == ["initdb", "postgres"]
    with run(ports, folder) as second, psycopg.connect(url) as connection:
        assert connection.execute("SELECT x FROM kept").fetchone() == (17,)
        assert [timing.component for timing in second.timings] == ["postgres"]


def test_data_outlive_a_crash(ports: Ports, folder: RunFolder) -> None:
    url = database(ports, {}).admin_url
    with run(ports, folder) as first:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 17 AS x")
        first.kill("postgres")
        first.restart("postgres")
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT x FROM kept").fetchone() == (17,)


def test_settings(ports: Ports, folder: RunFolder) -> None:
    with run(ports, folder), psycopg.connect(database(ports, {}).admin_url) as connection:

        def setting(name: str) -> str:
            row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
            assert row is not None
            return str(row[0])

        assert setting("listen_addresses") == "127.0.0.1"
        assert setting("server_encoding") == "UTF8"
        assert setting("TimeZone") == "UTC"
        # A commit costs what it costs.
        assert setting("fsync") == "on"
        assert setting("synchronous_commit") == "on"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user")
def test_root_serves_as_nobody_from_a_folder_that_only_root_can_enter(ports: Ports, folder: RunFolder) -> None:
    assert folder.keys.stat().st_mode & 0o077 == 0
    hidden = RunFolder.of(ports.base, root=folder.keys)
    with run(ports, hidden) as started:
        status = Path(f"/proc/{started.pids()['postgres'][0]}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        assert fields["Uid"].split() == ["65534"] * 4
        assert int(fields["CapEff"], 16) == 1 << 1  # CAP_DAC_OVERRIDE, and nothing else
    assert folder.keys.stat().st_mode & 0o077 == 0


def test_an_initdb_that_was_cut_off_is_done_again(ports: Ports, folder: RunFolder) -> None:
    (folder.path / "postgres.new").mkdir()
    (folder.path / "postgres.new" / "PG_VERSION").write_text("18\n")
    with run(ports, folder) as started:
        assert "initdb" in [timing.component for timing in started.timings]


def test_a_broken_data_folder_is_told_with_postgres_s_own_words(ports: Ports, folder: RunFolder) -> None:
    with run(ports, folder):
        pass
    (folder.postgres / "PG_VERSION").write_text("9\n")
    message = r"(?s)postgres ended while it was starting.*initialized by PostgreSQL version 9"
    with pytest.raises(StartError, match=message):
        run(ports, folder).__enter__()


def test_stops_although_a_client_is_connected(ports: Ports, folder: RunFolder) -> None:
    with run(ports, folder) as started:
        pid = started.pids()["postgres"][0]
        connection = psycopg.connect(database(ports, {}).admin_url)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    connection.close()


def test_server_of_the_user(ports: Ports, folder: RunFolder) -> None:
    with run(ports, folder):
        theirs = database(ports, {}).admin_url
        with open_database(ports, {"DATABASE_URL": theirs}) as found:
            assert not found.embedded
            assert found.url("shop_user", "shop_trial").endswith(f"127.0.0.1:{ports['postgres']}/shop_trial")


def test_server_of_the_user_that_does_not_answer(ports: Ports) -> None:
    theirs = f"postgresql://me:secret@127.0.0.1:{ports['postgres']}/postgres"
    with (
        pytest.raises(StartError, match=r"(?s)DATABASE_URL does not let us in: .*refused") as error,
        open_database(ports, {"DATABASE_URL": theirs}),
    ):
        pass
    assert "secret" not in str(error.value)


def test_a_server_s_own_processes_belong_to_it(ports: Ports, folder: RunFolder) -> None:
    with run(ports, folder) as started:
        assert len(started.pids()["postgres"]) > 3
