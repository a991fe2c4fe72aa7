from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from stand_ins import until

from mesh.components.postgres import database, superuser_password
from mesh.components.postgres_owner import STATE, open_cluster, remove_cluster
from mesh.description.ports import Ports
from mesh.errors import StartError
from mesh.native.database_run import database_run, open_database
from mesh.paths import ROOT, RunFolder
from mesh.supervisor.processes import death_signals
from mesh.supervisor.run import Run

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")


def run(ports: Ports, folder: RunFolder) -> Run:
    return database_run(database(ports, {}, folder), ports, folder)


def admin_url(run: Run) -> str:
    return database(run.ports, {}, run.folder).admin_url


@pytest.fixture(scope="module")
def served(free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A server for tests that leave it as it was."""
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("served"))
    with run(ports, folder) as started:
        yield started
    remove_cluster(folder)


def was_made(run: Run) -> bool:
    """Whether the run made its data instead of using existing data."""
    return (run.logs / "initdb.log").exists()


@contextmanager
def filesystem(at: Path, options: str) -> Iterator[Path]:
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(at)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount a file system")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def test_data_outlive_runs_and_crashes_until_they_are_cleaned(ports: Ports, folder: RunFolder, tmp_path: Path) -> None:
    with run(ports, folder) as first:
        assert was_made(first)
        with psycopg.connect(admin_url(first)) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 17 AS x")
        first.kill("postgres")
        first.restart("postgres")
        connected = psycopg.connect(admin_url(first))
        pid = first.pids()["postgres"][0]
    with pytest.raises(ProcessLookupError):  # it stops although a client is connected
        os.kill(pid, 0)
    connected.close()
    with run(ports, folder) as second, psycopg.connect(admin_url(second)) as connection:
        assert connection.execute("SELECT x FROM kept").fetchone() == (17,)
        assert not was_made(second)
    data = folder.postgres.resolve()
    assert [one.path for one in RunFolder.all(tmp_path)] == [folder.path]
    remove_cluster(folder)
    shutil.rmtree(folder.path)
    assert not data.exists()
    assert RunFolder.all(tmp_path) == []


def test_settings(served: Run) -> None:
    expected = {"listen_addresses": "127.0.0.1", "server_encoding": "UTF8", "TimeZone": "UTC"}
    # Commits reach the disk, so that their cost is realistic.
    expected |= {"fsync": "on", "synchronous_commit": "on"}
    with psycopg.connect(admin_url(served)) as connection:
        rows = connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(expected)])
        assert dict(rows.fetchall()) == expected
    assert len(served.pids()["postgres"]) > 3, "the server's own processes belong to it"


def test_the_server_refuses_clients_without_the_password(served: Run) -> None:
    url = admin_url(served)
    psycopg.connect(url).close()
    for password in ("", "postgres", "shop_user", "0" * 64):
        for user in ("postgres", "shop_user", "template1"):
            with pytest.raises(psycopg.OperationalError, match=r"no password supplied|authentication failed"):
                psycopg.connect(make_conninfo(url, user=user, password=password))
    assert served.folder.postgres_password.stat().st_mode & 0o777 == 0o600


def test_rows_do_not_get_into_the_log(served: Run) -> None:
    with psycopg.connect(admin_url(served)) as connection:
        connection.execute("CREATE TEMPORARY TABLE account (email text CHECK (email = lower(email)))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO account VALUES (%s)", ["Ada@example.com"])
    log = until(lambda: (text := (served.logs / "postgres.log").read_text()) and "account_email_check" in text and text)
    assert "Ada@example.com" not in log


def test_server_of_the_user(served: Run) -> None:
    with open_database(served.ports, {"DATABASE_URL": admin_url(served)}) as theirs:
        assert not theirs.embedded
        assert theirs.url("shop_user", "shop_trial").endswith(f"127.0.0.1:{served.ports['postgres']}/shop_trial")


@as_root
def test_root_serves_without_any_right_from_a_folder_that_only_root_can_enter(ports: Ports, folder: RunFolder) -> None:
    hidden = RunFolder.of(ports.base, root=folder.keys)
    secret = folder.keys / "secret"
    secret.write_text("for root only")
    assert folder.keys.stat().st_mode & 0o077 == 0
    with run(ports, hidden) as started:
        for pid in started.pids()["postgres"]:
            try:
                fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            except FileNotFoundError:  # some processes of the server end soon after its start
                continue
            (uid,) = set(fields["Uid"].split())
            assert int(uid) != 0
            with pytest.raises(KeyError):
                pwd.getpwuid(int(uid))  # other programs may run as `nobody`, but only this server runs as this user
            assert fields["Groups"].strip() == ""
            for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                assert int(fields[capabilities], 16) == 0
            assert fields["NoNewPrivs"].strip() == "1"
        with psycopg.connect(database(ports, {}, hidden).admin_url, autocommit=True) as connection:
            connection.execute("CREATE TABLE taken (line text)")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT pg_read_file('{secret}')".encode())
            with pytest.raises(psycopg.errors.ExternalRoutineException):
                connection.execute(f"COPY taken FROM PROGRAM 'cat {secret}'".encode())
    assert folder.keys.stat().st_mode & 0o077 == 0
    remove_cluster(hidden)


@as_root
def test_an_ordinary_user_serves_alone_too(ports: Ports) -> None:
    owner = pwd.getpwnam("nobody")
    nobody = owner.pw_uid
    look = ["test", "-r", ROOT / "pyproject.toml"]
    if subprocess.run(look, user=nobody, group=owner.pw_gid, extra_groups=[], check=False, timeout=10).returncode:
        pytest.skip(f"other users may not enter {ROOT}")
    with tempfile.TemporaryDirectory() as root:  # pytest's own folders are closed to others
        os.chown(root, nobody, nobody)
        script = Path(__file__).with_name("as_user.py")
        command = [sys.executable, str(script), str(nobody), root, str(ports.base)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    first, refusal = done.stdout.split("\n", 1)
    assert first == "the owner"
    assert "no password supplied" in refusal


@as_root
def test_data_of_a_run_that_is_gone_are_removed(ports: Ports, folder: RunFolder) -> None:
    with run(ports, folder):
        other = RunFolder.of(ports.base, root=folder.path)
        place = folder.postgres.resolve().parent
        assert place.is_relative_to(STATE)
        folder.postgres.unlink()
        open_cluster(other)
        assert place.is_dir()  # its server still runs
    open_cluster(other)
    assert not place.exists()
    gone = other.postgres.readlink().parent
    assert gone.is_dir()
    remove_cluster(other)
    assert not gone.exists()


@as_root
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("noexec", r"cannot run it from .*Every user must be able to enter that folder and to run programs from it"),
        ("ro", r"cannot be written: Read-only file system"),
        ("size=1m", r"cannot be written: No space left on device"),
    ],
)
def test_an_unusable_place_is_named(folder: RunFolder, options: str, message: str) -> None:
    with filesystem(folder.path / "state", options) as state, pytest.raises(StartError, match=message) as error:
        open_cluster(folder, state)
    assert str(state) in str(error.value)
    assert "Run as another user, or set DATABASE_URL" in str(error.value)


@as_root
@pytest.mark.parametrize("right", ["setuid", "setgid"])
def test_the_error_without_the_right_to_change_users_says_so(folder: RunFolder, right: str) -> None:
    code = f"""if True:
        from mesh.components.postgres_owner import open_cluster
        from mesh.paths import RunFolder
        from mesh.supervisor.reporting import reported
        from pathlib import Path
        with reported():
            open_cluster(RunFolder(Path({str(folder.path)!r})))"""
    command = ["setpriv", f"--bounding-set=-{right}", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "PostgreSQL does not run as root, and user" in done.stderr
    assert "Operation not permitted" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_server_ends_with_its_supervisor(ports: Ports, folder: RunFolder) -> None:
    code = f"""if True:
        from mesh.components.postgres import database
        from mesh.paths import RunFolder
        from mesh.description.ports import load_ports
        from mesh.native.database_run import database_run
        from pathlib import Path
        import time
        ports, folder = load_ports({{"SHOP_PORT_BASE": "{ports.base}"}}), RunFolder(Path({str(folder.path)!r}))
        with database_run(database(ports, {{}}, folder), ports, folder) as run:
            print(run.pids()["postgres"][0], flush=True)
            time.sleep(99)"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        postgres = psutil.Process(int(supervisor.stdout.readline()))
        supervisor.kill()
    if death_signals() is None:
        pytest.skip("no setpriv here can set a death signal; the next start ends what is left")
    postgres.wait(timeout=20)
    assert not (folder.postgres / "postmaster.pid").exists()  # it was stopped with a signal, not killed


@as_root
def test_programs_that_were_copied_in_part_are_copied_again(folder: RunFolder) -> None:
    with tempfile.TemporaryDirectory() as state:
        os.chmod(state, 0o755)
        programs = open_cluster(folder, Path(state)).programs
        home = programs.parents[2]
        (programs / "initdb").unlink()
        home.rename(home.with_name(f"{home.name}.new"))
        assert (open_cluster(folder, Path(state)).programs / "initdb").is_file()


def test_data_without_a_password_are_remade(ports: Ports, folder: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    old = folder.postgres
    old.mkdir()
    (old / "PG_VERSION").write_text("18\n")
    # An interrupted initdb is repeated.
    (folder.path / "postgres.new").mkdir()
    (folder.path / "postgres.new" / "PG_VERSION").write_text("18\n")
    with run(ports, folder) as started:
        assert was_made(started)
        assert f"The database in {old} " in (printed := capfd.readouterr().err)
        assert "so it is recreated" in printed
        psycopg.connect(database(ports, {}, folder).admin_url).close()
    folder.postgres_password.unlink()
    with run(ports, folder):
        assert "has no password or a different one, so it is recreated" in capfd.readouterr().err
        psycopg.connect(database(ports, {}, folder).admin_url).close()


def test_passwords_are_made_once_and_differ(ports: Ports, folder: RunFolder, tmp_path: Path) -> None:
    assert superuser_password(folder) == superuser_password(folder)
    assert superuser_password(folder) != superuser_password(RunFolder.of(ports.base, tmp_path / "other"))


def test_the_error_for_a_broken_data_folder_quotes_postgres(ports: Ports, folder: RunFolder) -> None:
    with run(ports, folder):
        pass
    (folder.postgres / "PG_VERSION").write_text("9\n")
    message = r"(?s)postgres ended while it was starting.*database files are incompatible with server"
    with pytest.raises(StartError, match=message):
        run(ports, folder).__enter__()


def test_server_of_the_user_that_does_not_answer(ports: Ports) -> None:
    theirs = f"postgresql://me:secret@127.0.0.1:{ports['postgres']}/postgres"
    with (
        pytest.raises(StartError, match=r"(?s)DATABASE_URL names refuses the connection: .*refused") as error,
        open_database(ports, {"DATABASE_URL": theirs}),
    ):
        pass
    assert "secret" not in str(error.value)
