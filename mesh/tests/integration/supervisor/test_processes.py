"""The supervisor with real processes."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from stand_ins import until

from mesh.description.ports import Ports
from mesh.errors import StartError
from mesh.paths import RunFolder
from mesh.supervisor.process_record import read_record
from mesh.supervisor.processes import Component, Supervisor
from mesh.supervisor.readiness import Check, accepts
from mesh.supervisor.signals import Interrupts

SLEEP = "import time; time.sleep(60)"
SERVE = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


def component(name: str, code: str, *args: str, ready: Check | None = lambda: True, **more: object) -> Component:
    return Component(name, argv=lambda: [sys.executable, "-c", code, *args], ready=ready, **more)  # type: ignore[arg-type]


@pytest.fixture
def supervisor(folder: RunFolder) -> Iterator[Supervisor]:
    made = Supervisor(folder, Interrupts())
    yield made
    made.stop()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import sys\nfor n in range(100): print('line', n, flush=True)\nsys.exit('no such table')",
            r" ended while it was starting, with exit code 1\.\nEnd of .*:\n  line 86\n(.|\n)*99\n  no such table$",
        ),
        (SLEEP, r" was not ready within 0\.5 s"),
    ],
    ids=["dies", "answers late"],
)
def test_a_command_that_does_not_start_is_named_by_its_component(supervisor: Supervisor, code: str, said: str) -> None:
    never = component("product", code, ready=lambda: False, command="./product --verbose", start_limit_s=0.5)
    with pytest.raises(StartError, match=rf"^product \(command: \./product --verbose\){said}"):
        supervisor.start([never])


def test_death_in_mid_run_is_noticed(supervisor: Supervisor, folder: RunFolder) -> None:
    log, code = folder.logs / "frail.log", f"print('bye', flush=True); {SLEEP}"
    frail = component("frail", code, command="./frail", ready=lambda: "bye" in log.read_text())
    supervisor.start([component("healthy", SLEEP), frail])
    assert supervisor.find_dead() == []
    os.kill(supervisor.pids()["frail"], signal.SIGSEGV)
    (death,) = until(supervisor.find_dead)
    assert death.component == "frail"
    assert re.search(r"(?s)^frail \(command: \./frail\) exited during the run, killed by SIGSEGV.*bye", str(death))


def test_independent_components_start_side_by_side(supervisor: Supervisor, tmp_path: Path) -> None:
    meet = """
import pathlib, sys, time
room = pathlib.Path(sys.argv[1])
(room / sys.argv[2]).touch()
while len(list(room.iterdir())) < 4:
    time.sleep(0.01)
"""
    room = tmp_path / "room"
    room.mkdir()
    supervisor.start([component(f"task-{n}", meet, str(room), str(n), ready=None) for n in range(4)])
    assert len(list(room.iterdir())) == 4


def test_dependencies_are_ready_before_their_dependents_start(supervisor: Supervisor) -> None:
    happened: list[str] = []

    def note(name: str, code: str, *, after: frozenset[str] = frozenset(), is_task: bool = False) -> Component:
        def argv() -> list[str]:
            happened.append(f"{name} started")
            return [sys.executable, "-c", code]

        def note_ready() -> bool:
            happened.append(f"{name} ready")
            return True

        return Component(name, argv=argv, after=after, ready=None if is_task else note_ready)

    supervisor.start(
        [
            note("third", SLEEP, after=frozenset({"second"})),
            note("second", "import time; time.sleep(0.2)", after=frozenset({"first"}), is_task=True),
            note("first", SLEEP),
        ]
    )
    assert happened == ["first started", "first ready", "second started", "third started", "third ready"]
    assert set(supervisor.pids()) == {"first", "third"}


AWAIT = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
"""Waits for a file without a limit."""
HELD = (
    "import pathlib, sys, time\npathlib.Path(sys.argv[1]).touch()\nsys.stdin.read()\n"
    "print('after it' if pathlib.Path(sys.argv[2]).exists() else 'before it', flush=True)\ntime.sleep(60)"
)
"""Reports its import, waits for the end of its input, and prints whether the previous component was ready by then."""


def importing(name: str, *args: str, code: str = HELD, **more: object) -> Component:
    return component(name, code, *args, imports_meanwhile=True, **more)


def test_a_component_imports_while_it_waits_for_others(supervisor: Supervisor, folder: RunFolder) -> None:
    imported, made = folder.path / "imported", folder.path / "made"
    log = folder.logs / "early.log"
    supervisor.start(
        [
            importing(
                "early", str(imported), str(made), ready=lambda: "it" in log.read_text(), after=frozenset({"task"})
            ),
            component("task", f"{AWAIT}pathlib.Path(sys.argv[2]).touch()", str(imported), str(made), ready=None),
        ]
    )
    assert log.read_text() == "after it\n"


def test_a_time_limit_begins_when_the_dependencies_are_ready(supervisor: Supervisor, folder: RunFolder) -> None:
    slow = component("task", "import time; time.sleep(1)", ready=None)
    supervisor.start(
        [importing("early", *2 * [str(folder.path / "any")], after=frozenset({"task"}), start_limit_s=0.8), slow]
    )
    assert set(supervisor.pids()) == {"early"}


def test_the_failed_import_of_a_component_that_waits_is_noticed(supervisor: Supervisor) -> None:
    with pytest.raises(StartError, match=r"(?s)early ended while it was starting, with exit code 1.*no such module"):
        supervisor.start(
            [
                importing("early", code="raise SystemExit('no such module')", after=frozenset({"task"})),
                component("task", SLEEP, ready=None),
            ]
        )


@pytest.mark.parametrize("imports_meanwhile", [False, True])
def test_a_component_that_would_wait_forever_is_refused(supervisor: Supervisor, imports_meanwhile: bool) -> None:
    waiting = component("early", SLEEP, after=frozenset({"absent"}), imports_meanwhile=imports_meanwhile)
    with pytest.raises(StartError, match="early cannot start: at least one component that must start first"):
        supervisor.start([waiting])


def test_a_component_that_waits_is_stopped_too(supervisor: Supervisor, folder: RunFolder) -> None:
    imported = folder.path / "imported"
    with pytest.raises(StartError, match="task ended"):
        supervisor.start(
            [
                importing("early", str(imported), str(imported), after=frozenset({"task"})),
                component("task", f"{AWAIT}raise SystemExit(1)", str(imported), ready=None),
            ]
        )
    (early,) = (psutil.Process(pid) for name, pid in supervisor.pids().items() if name == "early")
    assert supervisor.stop() == []
    assert not early.is_running()


def test_data_stores_outlive_their_writers(supervisor: Supervisor, folder: RunFolder) -> None:
    supervisor.start(
        [component(name, SLEEP, stop_rank=rank) for name, rank in (("edge", 0), ("shop", 2), ("store", 9))]
    )
    assert supervisor.stop({0, 2}) == []
    assert set(supervisor.pids()) == {"store"}
    assert {item.component: item.pid for item in read_record(folder)} == supervisor.pids()
    assert supervisor.find_dead() == []
    supervisor.stop()
    assert read_record(folder) == []


def test_missing_program(supervisor: Supervisor) -> None:
    with pytest.raises(StartError, match="absent"):
        supervisor.start([Component("absent", argv=lambda: ["/no/such/program"], ready=lambda: False)])


def test_another_process_s_answer_does_not_make_a_dead_process_ready(supervisor: Supervisor) -> None:
    with pytest.raises(StartError, match="gone ended while it was starting"):
        supervisor.start([component("gone", "raise SystemExit(1)", ready=lambda: time.sleep(0.3) is None)])


def test_components_stop_in_the_order_of_their_ranks(supervisor: Supervisor, folder: RunFolder) -> None:
    note = (
        "import signal, sys, time, pathlib\n"
        "def end(*_):\n"
        "    with open(sys.argv[1], 'a') as f: f.write(sys.argv[2])\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end); pathlib.Path(sys.argv[3]).touch(); time.sleep(60)"
    )
    order = folder.path / "order"
    marks = {name: folder.path / f"ready-{name}" for name in "abc"}
    supervisor.start(
        component(name, note, str(order), name, str(marks[name]), ready=marks[name].exists, stop_rank=rank)
        for name, rank in (("c", 3), ("a", 1), ("b", 2))
    )
    supervisor.stop()
    assert order.read_text() == "abc"


def test_a_full_disk_leaves_no_component_running(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    supervisor.start([component("edge", SLEEP), component("store", SLEEP, stop_rank=9)])
    started = [psutil.Process(pid) for pid in supervisor.pids().values()]
    monkeypatch.setattr("mesh.supervisor.processes.write_record", fail)
    assert supervisor.stop() == []
    assert not any(process.is_running() for process in started)


def test_a_deaf_component_is_killed_in_time(supervisor: Supervisor, folder: RunFolder) -> None:
    ready = folder.logs / "deaf.log"
    supervisor.start([component("deaf", DEAF, ready=lambda: "deaf" in ready.read_text(), stop_limit_s=0.3)])
    began = time.monotonic()
    assert supervisor.stop() == ["deaf"]
    assert time.monotonic() - began < 8


def test_kill_and_restart(supervisor: Supervisor, ports: Ports) -> None:
    supervisor.start([component("server", SERVE, str(ports["edge"]), ready=accepts(ports["edge"]))])
    first = supervisor.pids()["server"]
    supervisor.kill("server")
    assert not psutil.pid_exists(first)
    assert supervisor.find_dead() == []
    supervisor.restart("server")
    assert supervisor.pids()["server"] != first
    assert accepts(ports["edge"])()
    supervisor.restart("server")
    assert accepts(ports["edge"])()
    assert supervisor.stop() == []
    assert not accepts(ports["edge"])()


CHILD = "import os, sys, time\nwhile os.getppid() == int(sys.argv[1]): time.sleep(0.02)"
"""The child's parent may be killed before the child starts, so it gets the parent's pid as an argument."""
PARENT = (
    "import os, subprocess, sys; "
    f"subprocess.run([sys.executable, '-c', {CHILD!r}, str(os.getpid())], start_new_session=True)"
)


def test_the_children_of_a_killed_component_have_ended_too(supervisor: Supervisor) -> None:
    supervisor.start([component("parent", PARENT, ready=lambda: bool(children(supervisor)))])
    (child,) = children(supervisor)
    supervisor.kill("parent")
    # A machine's init may not reap ended processes for a long time.
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def children(supervisor: Supervisor) -> list[psutil.Process]:
    return [child for pid in supervisor.pids().values() for child in psutil.Process(pid).children()]


TAKES_OVER = "import os, signal, sys, time; os.kill(int(sys.argv[1]), signal.SIGTERM); time.sleep(60)"


def test_a_process_hands_over_to_its_successor(supervisor: Supervisor, folder: RunFolder) -> None:
    made = component("server", SLEEP)
    pids: list[int] = []

    def successor() -> list[str]:
        pids.append(supervisor.pids()["server-before"])
        return [sys.executable, "-c", TAKES_OVER, str(pids[-1])]

    supervisor.start([replace(made, successor=successor)])
    for _ in range(2):
        supervisor.hand_over("server")
        assert not psutil.pid_exists(pids[-1])
        assert list(supervisor.pids()) == list(supervisor.pids_by_component()) == ["server"]
        assert {item.component: item.pid for item in read_record(folder)} == supervisor.pids()
        assert supervisor.find_dead() == []
    assert pids[0] != pids[1]
    supervisor.restart("server")
    supervisor.hand_over("server")


RENEWS = """
import signal, subprocess, sys, time
def renew(*_):
    global child
    before, child = child, subprocess.Popen(["sleep", "60"])
    before.kill()
    before.wait()
child = subprocess.Popen(["sleep", "60"])
signal.signal(signal.SIGHUP, renew)
print("up", file=sys.stderr, flush=True)
while True:
    time.sleep(60)
"""


def renewing(folder: RunFolder, code: str, **more: object) -> Component:
    """Makes a server whose log says when it is ready to renew its child."""
    log = folder.logs / "server.log"
    return component("server", code, ready=lambda: "up" in log.read_text(), renew_signal=signal.SIGHUP, **more)


def test_a_process_that_renews_its_children_stays(supervisor: Supervisor, folder: RunFolder) -> None:
    supervisor.start([renewing(folder, RENEWS)])
    before, children_before = supervisor.pids(), children(supervisor)
    supervisor.hand_over("server")
    assert supervisor.pids() == before
    assert len(children_before) == len(children(supervisor)) == 1
    assert children_before != children(supervisor)
    (child,) = children(supervisor)
    supervisor.stop()
    child.kill()


def test_a_process_that_does_not_renew_itself_is_named(supervisor: Supervisor, folder: RunFolder) -> None:
    deaf = RENEWS.replace("signal.SIGHUP, renew", "signal.SIGHUP, signal.SIG_IGN")
    supervisor.start([renewing(folder, deaf, start_limit_s=3)])
    with pytest.raises(StartError, match="server did not renew its processes"):
        supervisor.hand_over("server")
    for child in children(supervisor):
        child.kill()


def test_an_ended_component_is_restarted(supervisor: Supervisor, folder: RunFolder) -> None:
    supervisor.start([renewing(folder, RENEWS)])
    first, (child,) = supervisor.pids()["server"], children(supervisor)
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    supervisor.hand_over("server")
    assert supervisor.pids()["server"] != first
    assert supervisor.find_dead() == []
    for left in (child, *children(supervisor)):
        left.kill()


def test_a_component_that_cannot_hand_over_is_restarted(supervisor: Supervisor) -> None:
    supervisor.start([component("server", SLEEP)])
    first = supervisor.pids()["server"]
    supervisor.hand_over("server")
    assert supervisor.pids()["server"] != first
    assert not psutil.pid_exists(first)


def test_neither_process_is_left_if_the_successor_does_not_start(supervisor: Supervisor, folder: RunFolder) -> None:
    supervisor.start([replace(component("server", SLEEP), successor=lambda: [sys.executable, "-c", "exit(3)"])])
    first = supervisor.pids()["server"]
    with pytest.raises(StartError, match="server ended while it was starting, with exit code 3"):
        supervisor.hand_over("server")
    assert [item.pid for item in read_record(folder)].count(first) == 1
    supervisor.stop()
    assert not psutil.pid_exists(first)
    assert supervisor.pids() == {}


def test_the_user_s_environment_stays_outside(
    supervisor: Supervisor, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "somebody")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    code = "import os, sys; print(sorted(os.environ), file=sys.stderr)"
    supervisor.start([component("task", code, ready=None, env={"SHOP_COMPONENT": "x"})])
    seen = (folder.logs / "task.log").read_text()
    assert "SHOP_COMPONENT" in seen
    assert "OTEL_SERVICE_NAME" not in seen
    assert "http_proxy" not in seen
