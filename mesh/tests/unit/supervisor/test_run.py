from __future__ import annotations

import fcntl
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mesh.description.ports import load_ports
from mesh.errors import AlreadyRunningError
from mesh.paths import RunFolder
from mesh.supervisor.process_record import lock_holder
from mesh.supervisor.processes import Supervisor
from mesh.supervisor.run import Run

PORTS = load_ports({})


def test_a_refused_run_keeps_the_other_run_s_sockets(tmp_path: Path) -> None:
    folder = RunFolder.of(PORTS.base, tmp_path)
    with Run(PORTS, folder):
        socket = folder.sockets / "edge.admin"
        socket.touch()
        with pytest.raises(AlreadyRunningError), Run(PORTS, folder):
            pass
        assert socket.exists()
    assert not folder.sockets.exists()


def test_a_look_at_the_lock_does_not_refuse_a_run(tmp_path: Path) -> None:
    folder = RunFolder.of(PORTS.base, tmp_path)
    with folder.lock.open("a+") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.1, looking.close).start()
        with Run(PORTS, folder):
            pass


def test_only_the_run_s_user_may_enter_its_folders(tmp_path: Path) -> None:
    open_to_all = tmp_path / ".run" / str(PORTS.base)
    open_to_all.mkdir(parents=True, mode=0o755)
    folder = RunFolder.of(PORTS.base, tmp_path)
    with Run(PORTS, folder):
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder.path, folder.keys, folder.sockets)] == [0o700] * 3


@pytest.mark.parametrize(
    ("hard", "message"),
    [
        (3_000, "3000"),
        (600, "processes need 2512 open files for that many, but this user may have only 600.*at most connections=44"),
    ],
)
def test_the_limit_on_open_files_is_raised_as_far_as_possible_or_refused(hard: int, message: str) -> None:
    tried = "import resource; from mesh.supervisor.open_files import allow; allow(1000)"
    shell = f'ulimit -Sn 256; ulimit -Hn {hard}; exec "$0" -c "{tried}; print(resource.getrlimit(7)[0])"'
    done = subprocess.run(["/bin/sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False)
    assert re.search(message, done.stdout + done.stderr)


def test_a_failed_stop_leaves_neither_lock_nor_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no terminal for a message")

    folder = RunFolder.of(PORTS.base, tmp_path)
    with pytest.raises(OSError, match="no terminal"), Run(PORTS, folder):
        monkeypatch.setattr(Supervisor, "stop", fail)
    assert lock_holder(folder) is None
    assert not folder.sockets.exists()
