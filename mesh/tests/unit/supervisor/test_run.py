"""What a run leaves of its folders, to itself and to others."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mesh.description.ports import load_ports
from mesh.errors import AlreadyRunningError
from mesh.paths import RunFolder
from mesh.supervisor.run import Run

PORTS = load_ports({})


def test_a_run_that_finds_another_leaves_it_its_sockets(tmp_path: Path) -> None:
    folder = RunFolder.of(PORTS.base, tmp_path)
    with Run(PORTS, folder):
        socket = folder.sockets / "edge.admin"
        socket.touch()
        with pytest.raises(AlreadyRunningError), Run(PORTS, folder):
            pass
        assert socket.exists()
    assert not folder.sockets.exists()


def test_only_the_run_s_user_may_enter_its_folders(tmp_path: Path) -> None:
    open_to_all = tmp_path / ".run" / str(PORTS.base)
    open_to_all.mkdir(parents=True, mode=0o755)
    folder = RunFolder.of(PORTS.base, tmp_path)
    with Run(PORTS, folder):
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder.path, folder.keys, folder.sockets)] == [0o700] * 3
