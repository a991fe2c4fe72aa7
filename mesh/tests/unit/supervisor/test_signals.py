"""A signal ends the run at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.native.system import System
from mesh.paths import RunFolder
from mesh.supervisor.child import child_process
from mesh.supervisor.process_record import lock_holder
from mesh.supervisor.run import Run
from mesh.supervisor.signals import Interrupted, Interrupts
from provision import golang


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    made = Interrupts()
    made.install()
    yield made
    made.restore()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    ports = load_ports({})
    return Run(ports, RunFolder.of(ports.base, tmp_path))


def interrupt_unheard() -> None:
    """Sends a signal whose exception Python drops, as in the callbacks of weak references."""
    with pytest.raises(Interrupted):
        signal.raise_signal(signal.SIGINT)


def test_a_signal_between_the_start_and_the_body_is_raised_by_the_release(interrupts: Interrupts) -> None:
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="SIGTERM"):
        interrupts.release()


def test_a_signal_whose_exception_was_dropped_is_raised_by_the_next_check(run: Run) -> None:
    with run:
        interrupt_unheard()
        with pytest.raises(Interrupted):
            run.check()


def test_a_signal_whose_exception_was_dropped_is_raised_by_the_end_of_the_run(run: Run) -> None:
    with pytest.raises(Interrupted), run:
        interrupt_unheard()


def test_a_signal_while_the_run_stops_is_raised_once_it_has_stopped(run: Run) -> None:
    class Stopping(Run):
        def tidy(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted), Stopping(run.ports, run.folder):
        pass


def test_a_signal_that_arrived_is_raised_once(run: Run) -> None:
    with pytest.raises(Interrupted) as raised, run:
        signal.raise_signal(signal.SIGINT)
    assert raised.value.__context__ is None


def test_stopping_a_part_does_not_raise_the_same_signal_again(run: Run) -> None:
    with run:
        interrupt_unheard()
        run.stop_ranks({1})
        with pytest.raises(Interrupted):
            run.check()


def test_a_signal_ends_the_program_that_a_command_waits_for() -> None:
    with pytest.raises(Interrupted, match="SIGTERM"), child_process(["sleep", "60"]) as child:
        signal.raise_signal(signal.SIGTERM)
    assert child.returncode == -signal.SIGTERM


def test_a_signal_ends_the_build_of_a_component(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the build continues")

    monkeypatch.setattr(golang, "build_service", build)
    monkeypatch.setattr(System, "require_free", lambda _: None)
    for name in ("database_components", "jaeger_component"):
        monkeypatch.setattr(f"mesh.native.system.{name}", lambda *_: [])
    switches = parse_switches(implementation="product:go")
    system = System(load_topology("grpc"), switches, run.ports, "trial", environ={}, folder=run.folder)
    with pytest.raises(Interrupted, match="SIGINT"), system:
        pytest.fail("the run starts")
    assert lock_holder(run.folder) is None


HELD = """
import os
import signal
import subprocess
import sys
from mesh.supervisor.signals import Interrupted, Interrupts
interrupts = Interrupts()
interrupts.install()
signal.raise_signal(signal.SIGHUP)
try:
    interrupts.release()
except Interrupted as interrupted:
    raise SystemExit(interrupted.exit_code)
"""


def test_a_signal_is_held_back_without_a_terminal_too() -> None:
    reader, closed = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", HELD], stderr=closed, check=False)
    os.close(closed)
    assert done.returncode == 128 + signal.SIGHUP
