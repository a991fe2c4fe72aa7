from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from valkey import Valkey
from valkey.exceptions import ValkeyError

from mesh.components.postgres import Database
from mesh.components.valkey import VALKEY, Cache, cache, valkey_components
from mesh.description.ports import Ports
from mesh.errors import StartError
from mesh.paths import RunFolder
from mesh.supervisor.processes import Supervisor
from mesh.supervisor.signals import Interrupts

DATABASE = Database("postgresql://postgres:hush@127.0.0.1:1/postgres", embedded=True)


@pytest.fixture
def server(free_ports, tmp_path: Path) -> Iterator[tuple[Cache, Ports, Supervisor]]:
    ports = free_ports()
    folder, own = RunFolder.of(ports.base, tmp_path), cache(ports, {}, DATABASE)
    supervisor = Supervisor(folder, Interrupts())
    try:
        supervisor.start(valkey_components(own, folder, ports))
        yield own, ports, supervisor
    finally:
        supervisor.stop()


def test_the_cache_needs_a_password_limits_its_memory_and_is_empty_after_a_restart(server) -> None:
    own, _, supervisor = server
    (pid,) = supervisor.pids_by_component()[VALKEY]
    password = DATABASE.password(VALKEY)
    assert password not in " ".join(psutil.Process(pid).cmdline())
    with (
        Valkey.from_url(own.url.replace(password, "guess")) as stranger,
        pytest.raises(ValkeyError, match="invalid username-password"),
    ):
        stranger.ping()
    with Valkey.from_url(own.url) as client:
        for key in range(2_000):
            client.set(str(key), b"x" * 100_000)
        assert client.info("memory")["used_memory"] < 80 * 2**20
        assert client.info("stats")["evicted_keys"] > 0
        supervisor.restart(VALKEY)
        assert client.dbsize() == 0


def test_the_user_s_server_is_checked(server, free_ports) -> None:
    own, ports, _ = server
    theirs = cache(ports, {"CACHE_URL": own.url}, DATABASE)
    assert valkey_components(theirs, RunFolder(Path("/nowhere")), ports) == []
    password, port = DATABASE.password(VALKEY), str(ports[VALKEY])
    for url, cause in (
        (own.url.replace(password, "guess"), "invalid username-password"),
        (own.url.replace(port, str(free_ports()[VALKEY])), "refused"),
    ):
        with pytest.raises(StartError, match=f"(?s)CACHE_URL names refuses the connection: .*{cause}") as error:
            valkey_components(cache(ports, {"CACHE_URL": url}, DATABASE), RunFolder(Path("/nowhere")), ports)
        assert "guess" not in str(error.value)
