"""What dies under `mesh up` is started again, within bounds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest

from mesh.components.postgres import database
from mesh.components.shop_processes import role_passwords
from mesh.description.ports import Ports
from mesh.errors import ComponentDiedError
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component
from mesh.supervisor.restarts import LASTS_S, MOST, Restarts
from mesh.supervisor.run import Run
from mesh.supervisor.running_state import component_table

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
LIMIT_S = 60.0
SLEEP = "import time; time.sleep(99)"
FRAIL = "import pathlib, sys, time\nif pathlib.Path(sys.argv[1]).exists(): sys.exit('no luck')\ntime.sleep(99)"


class TwoSleepers(Run):
    """Two processes, one of which ends at once while the file `ill` is there."""

    @property
    def ill(self) -> Path:
        return self.folder.path / "ill"

    def port_names(self) -> list[str]:
        """No port."""
        return []

    def components(self) -> Sequence[Component]:
        """What to run."""
        frail = [sys.executable, "-c", FRAIL, str(self.ill)]
        return [
            Component("sturdy", argv=lambda: [sys.executable, "-c", SLEEP], ready=lambda: True),
            Component("frail", argv=lambda: frail, ready=lambda: True),
        ]


class Clock:
    """Time that passes when the test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def wait_for(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def kill(run: Run, name: str) -> None:
    os.kill(run.pids()[name][0], signal.SIGKILL)
    wait_for(run.ended)


def test_what_the_run_can_do_without_is_given_up_after_as_many_restarts(ports: Ports, folder: RunFolder) -> None:
    class Spared(TwoSleepers):
        def components(self) -> Sequence[Component]:
            return [replace(one, when_lost="restart") if one.name == "frail" else one for one in super().components()]

    clock, said = Clock(), list[str]()
    with Spared(ports, folder) as run:
        restarts = Restarts(run, said.append, clock, every=False)
        for _ in range(MOST + 2):
            if "frail" in run.pids() and not run.ended():
                kill(run, "frail")
            restarts.look()
            clock.now += 30
        assert restarts.counts == {"frail": MOST}
        assert "The run goes on without frail." in said[-1]
        assert len(said) == MOST + 1
        kill(run, "sturdy")
        wait_for(lambda: len(run.ended()) == 2)
        with pytest.raises(ComponentDiedError, match="sturdy exited"):
            restarts.look()


def test_what_died_is_started_again_and_nothing_else(ports: Ports, folder: RunFolder) -> None:
    said: list[str] = []
    with TwoSleepers(ports, folder) as run:
        restarts = Restarts(run, said.append)
        before = run.pids()
        assert not restarts.look()
        run.check()
        kill(run, "frail")
        with pytest.raises(ComponentDiedError, match="frail exited during the run"):
            run.check()
        assert restarts.look()
        assert run.pids()["sturdy"] == before["sturdy"]
        assert run.pids()["frail"] != before["frail"]
        assert restarts.counts == {"frail": 1}
    assert len(said) == 1
    assert said[0].startswith("frail exited during the run, by SIGKILL.")
    assert said[0].endswith("frail was restarted; restarts so far: 1.")


def test_what_dies_again_and_again_ends_the_run(ports: Ports, folder: RunFolder) -> None:
    clock = Clock()
    said: list[str] = []
    with TwoSleepers(ports, folder) as run:
        restarts = Restarts(run, said.append, clock)
        run.ill.touch()
        kill(run, "frail")
        for tried in range(1, MOST + 1):
            restarts.look()
            wait_for(run.ended)
            assert restarts.counts["frail"] == tried
            if tried < MOST:
                restarts.look()  # at once: the pause is not over
                assert restarts.counts["frail"] == tried
            clock.now += LASTS_S - 1
        with pytest.raises(ComponentDiedError, match=rf"(?s)frail was restarted {MOST} times in a row.*no luck"):
            restarts.look()


def test_what_lasts_may_die_as_often_as_it_likes(ports: Ports, folder: RunFolder) -> None:
    clock = Clock()
    with TwoSleepers(ports, folder) as run:
        restarts = Restarts(run, lambda _: None, clock)
        for died in range(1, 2 * MOST):
            kill(run, "frail")
            restarts.look()
            assert restarts.counts["frail"] == died
            clock.now += LASTS_S


def test_a_start_that_fails_is_tried_again(ports: Ports, folder: RunFolder) -> None:
    clock = Clock()
    said: list[str] = []

    class Unready(TwoSleepers):
        """The frail one answers only while it is well."""

        def components(self) -> Sequence[Component]:
            """What to run."""
            argv = [sys.executable, "-c", SLEEP]
            return [
                Component("frail", argv=lambda: argv, ready=lambda: not self.ill.exists(), start_limit_s=0.3),
            ]

    with Unready(ports, folder) as run:
        restarts = Restarts(run, said.append, clock)
        run.ill.touch()
        kill(run, "frail")
        restarts.look()
        assert "frail could not be restarted: frail was not ready within 0.3 s" in said[-1]
        clock.now += LASTS_S  # in which it did not run
        for _ in range(2, MOST):
            restarts.look()
            clock.now += LASTS_S
        run.ill.unlink()
        restarts.look()
        assert f"frail was restarted; restarts so far: {MOST}." in said[-1]
        run.ill.touch()
        kill(run, "frail")
        with pytest.raises(ComponentDiedError, match=f"frail was restarted {MOST} times in a row"):
            restarts.look()


def mesh(ports: Ports, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mesh", *arguments],
        env={**os.environ, "SHOP_PORT_BASE": str(ports.base), "DATABASE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_shop_that_is_up_outlives_its_components(shop_ports: Ports) -> None:
    folder = RunFolder.of(shop_ports.base)
    up = mesh(shop_ports, "up", "--detach")
    try:
        assert up.returncode == 0, up.stderr
        for victim in ("order", "postgres", "edge"):
            before = components(folder)[victim]
            os.kill(int(str(before["pid"])), signal.SIGKILL)
            wait_for(lambda: revived(folder, victim, before["pid"]))  # noqa: B023 - it is called at once
            wait_for(lambda: answers(shop_ports))
        assert "order exited during the run, by SIGKILL" in (folder.path / "up.log").read_text()
        assert "restarts" in mesh(shop_ports, "status").stdout
        no_secret_is_seen(shop_ports, folder)
    finally:
        mesh(shop_ports, "down")
    shop_ports.require_free(shop_ports.offsets)


def components(folder: RunFolder) -> dict[str, dict[str, object]]:
    return {str(row["component"]): row for row in component_table(folder)}


def revived(folder: RunFolder, name: str, pid: object) -> bool:
    now = components(folder).get(name)
    return now is not None and bool(now["running"]) and now["pid"] != pid and now["restarts"] == 1


def answers(ports: Ports) -> bool:
    query = {"query": "{ products(first: 1) { edges { node { title } } } }"}
    answer = httpx.post(f"{ports.url('edge')}/graphql", json=query, trust_env=False, timeout=10)
    return answer.status_code == 200 and "errors" not in answer.json()


def no_secret_is_seen(ports: Ports, folder: RunFolder) -> None:
    """Looks for the database's passwords where every user of the machine, or whoever gets the logs, can see them."""
    db = database(ports, {}, folder)
    secrets = [folder.postgres_password.read_text(), *role_passwords(db).values()]
    seen = {str(path): path.read_text(errors="replace") for path in folder.path.rglob("*") if path.is_file()}
    del seen[str(folder.postgres_password)]
    for process in psutil.process_iter(["cmdline"]):
        seen[f"process {process.pid}"] = " ".join(process.info["cmdline"] or [])
    assert [where for where, text in seen.items() if any(secret in text for secret in secrets)] == []
