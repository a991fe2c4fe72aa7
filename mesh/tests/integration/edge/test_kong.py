"""The real Kong: whether it accepts its configuration, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from stand_ins import edge_run, needs_kong

from mesh.components.keys import key_pair
from mesh.description.ports import Ports
from mesh.description.topology import EDGE, load_topology, names
from mesh.edge import kong
from mesh.edge.component import ACCESS_LOG, kong_component, write_config
from mesh.edge.plan import EdgePlan
from mesh.errors import StartError
from mesh.paths import RunFolder
from mesh.paths import kong as kong_program
from mesh.sidecars.workloads import workloads
from mesh.supervisor.run import Run

pytestmark = needs_kong

TOPOLOGIES = [name for name in names() if not ((one := load_topology(name)).needs_envoy or one.passes_by_the_edge)]


@pytest.fixture
def kong_alone(ports: Ports, folder: RunFolder) -> Run:
    return edge_run(EdgePlan(load_topology("hybrid"), ports, folder.logs / ACCESS_LOG), ports, folder, "kong")


@pytest.mark.parametrize(
    ("name", "plugins", "meshed"),
    [
        *((name, plugins, False) for name in TOPOLOGIES for plugins in ("none", "typical", "all")),
        ("hybrid", "all", True),
    ],
)
def test_kong_takes_the_configuration(
    name: str, plugins: str, meshed: bool, ports: Ports, folder: RunFolder, tmp_path: Path
) -> None:
    topology = load_topology(name)
    sidecar = next(one for one in workloads(topology, ports, folder) if one.name == EDGE) if meshed else None
    key = key_pair(folder.keys).public.read_text()
    plan = EdgePlan(topology, ports, folder.logs / ACCESS_LOG, sidecar, plugins=plugins, jwt_public_key=key)
    file = write_config(tmp_path / "kong.yaml", kong.render(plan))
    command = [str(kong_program(os.environ)), "config", "parse", str(file)]
    environ = {**os.environ, **kong.settings(plan), "KONG_PREFIX": str(tmp_path / "kong")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def members(run: Run) -> list[psutil.Process]:
    master = psutil.Process(run.pids()[EDGE][0])
    return [master, *master.children(recursive=True)]


def lives(process: psutil.Process) -> bool:
    """Whether a process still runs; an ended process stays a zombie if its parent does not reap it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_nothing_of_kong_is_left_after_its_run(kong_alone: Run) -> None:
    with kong_alone as run:
        processes = members(run)
        assert len(processes) == 2  # nginx's master and its one worker
        assert {process.username() for process in processes} == {psutil.Process().username()}
        sockets = run.folder.sockets
    assert not any(map(lives, processes))
    assert not sockets.exists()


def test_a_killed_kong_is_noticed_and_can_be_started_again(kong_alone: Run) -> None:
    with kong_alone as run:
        before = members(run)
        before[0].send_signal(signal.SIGKILL)
        before[0].wait(5)
        assert [error.component for error in run.find_dead()] == [EDGE]
        run.restart(EDGE)
        run.check()
        after = members(run)
    assert not any(map(lives, [*before, *after]))


def test_a_setting_that_kong_refuses_is_in_the_message(ports: Ports, folder: RunFolder) -> None:
    plan = EdgePlan(load_topology("hybrid"), ports, folder.logs / ACCESS_LOG)
    component = kong_component(plan, folder, os.environ)
    (folder.config / "kong.yaml").write_text("_format_version: '3.0'\nservices: [{name: nowhere}]\n")
    with pytest.raises(StartError, match=r"nowhere|host"), Run(ports, folder, components=lambda: [component]):
        pass
