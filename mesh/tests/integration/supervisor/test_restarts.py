"""Components that die under `mesh up` are restarted, within limits."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins import until

from mesh.description.ports import Ports
from mesh.errors import ComponentDiedError
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component
from mesh.supervisor.restarts import LASTS_S, MAX_RESTARTS, Restarts
from mesh.supervisor.run import Run

pytestmark = pytest.mark.timeout(300)
SLEEP = "import time; time.sleep(99)"
FRAIL = "import pathlib, sys, time\nif pathlib.Path(sys.argv[1]).exists(): sys.exit('no luck')\ntime.sleep(99)"


class TwoSleepers(Run):
    """Two processes, one of which ends immediately while the file `ill` exists."""

    @property
    def ill(self) -> Path:
        return self.folder.path / "ill"

    def port_names(self) -> list[str]:
        return []

    def components(self) -> Sequence[Component]:
        frail = [sys.executable, "-c", FRAIL, str(self.ill)]
        return [
            Component("sturdy", argv=lambda: [sys.executable, "-c", SLEEP], ready=lambda: True),
            Component("frail", argv=lambda: frail, ready=lambda: True),
        ]


class Clock:
    """A clock that the test advances."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def kill(run: Run, name: str) -> None:
    os.kill(run.pids()[name][0], signal.SIGKILL)
    until(run.find_dead)


def test_an_optional_component_is_given_up_after_the_maximum_of_restarts(ports: Ports, folder: RunFolder) -> None:
    class Spared(TwoSleepers):
        def components(self) -> Sequence[Component]:
            return [replace(one, when_lost="restart") if one.name == "frail" else one for one in super().components()]

    clock, said = Clock(), list[str]()
    with Spared(ports, folder) as run:
        restarts = Restarts(run, said.append, clock, every=False)
        for _ in range(MAX_RESTARTS + 2):
            if "frail" in run.pids() and not run.find_dead():
                kill(run, "frail")
            restarts.look()
            clock.now += 30
        assert restarts.counts == {"frail": MAX_RESTARTS}
        assert "The run continues without frail." in said[-1]
        assert len(said) == MAX_RESTARTS + 1
        kill(run, "sturdy")
        until(lambda: len(run.find_dead()) == 2)
        with pytest.raises(ComponentDiedError, match="sturdy exited"):
            restarts.look()


def test_only_dead_components_are_restarted(ports: Ports, folder: RunFolder) -> None:
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
    assert said[0].startswith("frail exited during the run, killed by SIGKILL.")
    assert said[0].endswith("frail was restarted; restarts so far: 1.")


def test_a_component_that_keeps_dying_ends_the_run(ports: Ports, folder: RunFolder) -> None:
    clock = Clock()
    said: list[str] = []
    with TwoSleepers(ports, folder) as run:
        restarts = Restarts(run, said.append, clock)
        run.ill.touch()
        kill(run, "frail")
        for tried in range(1, MAX_RESTARTS + 1):
            restarts.look()
            until(run.find_dead)
            assert restarts.counts["frail"] == tried
            if tried < MAX_RESTARTS:
                restarts.look()  # too early: the pause is not over
                assert restarts.counts["frail"] == tried
            clock.now += LASTS_S - 1
        with pytest.raises(
            ComponentDiedError, match=rf"(?s)frail was restarted {MAX_RESTARTS} times in a row.*no luck"
        ):
            restarts.look()


def test_a_component_that_lasts_may_die_any_number_of_times(ports: Ports, folder: RunFolder) -> None:
    clock = Clock()
    with TwoSleepers(ports, folder) as run:
        restarts = Restarts(run, lambda _: None, clock)
        for died in range(1, 2 * MAX_RESTARTS):
            kill(run, "frail")
            restarts.look()
            assert restarts.counts["frail"] == died
            clock.now += LASTS_S


def test_a_start_that_fails_is_tried_again(ports: Ports, folder: RunFolder) -> None:
    clock = Clock()
    said: list[str] = []

    class Unready(TwoSleepers):
        """The component `frail` is ready only while `ill` is absent."""

        def components(self) -> Sequence[Component]:
            argv = [sys.executable, "-c", SLEEP]
            return [Component("frail", argv=lambda: argv, ready=lambda: not self.ill.exists(), start_limit_s=0.3)]

    with Unready(ports, folder) as run:
        restarts = Restarts(run, said.append, clock)
        run.ill.touch()
        kill(run, "frail")
        restarts.look()
        assert "frail could not be restarted: frail was not ready within 0.3 s" in said[-1]
        clock.now += LASTS_S  # the component did not run during this time
        for _ in range(2, MAX_RESTARTS):
            restarts.look()
            clock.now += LASTS_S
        run.ill.unlink()
        restarts.look()
        assert f"frail was restarted; restarts so far: {MAX_RESTARTS}." in said[-1]
        run.ill.touch()
        kill(run, "frail")
        with pytest.raises(ComponentDiedError, match=f"frail was restarted {MAX_RESTARTS} times in a row"):
            restarts.look()
