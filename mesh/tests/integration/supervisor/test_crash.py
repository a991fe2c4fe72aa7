"""No process survives a run, for any cause and any moment of its end."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from stand_ins import until

from mesh.description.ports import Ports
from mesh.errors import MeshError
from mesh.paths import RunFolder
from mesh.supervisor.process_record import Started, lock_holder, sweep, write_record
from mesh.supervisor.processes import death_signals
from mesh.supervisor.running_state import stop_run

SCRIPT = Path(__file__).with_name("crash_run.py")


def launch(folder: RunFolder, ports: Ports) -> subprocess.Popen[str]:
    argv, pipe = [sys.executable, str(SCRIPT), str(folder.path.parents[1]), str(ports.base)], subprocess.PIPE
    return subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def find_leftovers(folder: RunFolder) -> list[psutil.Process]:
    """Processes with the run's folder on their command line."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if str(folder.path) in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def wait_up(run: subprocess.Popen[str]) -> None:
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_while_it_runs(folder: RunFolder, ports: Ports, which: signal.Signals) -> None:
    run = launch(folder, ports)
    wait_up(run)
    assert len(find_leftovers(folder)) == 3
    run.send_signal(which)
    _, err = run.communicate(timeout=20)
    assert run.returncode == 128 + which
    assert f"stopped by {which.name}" in err
    assert "Traceback" not in err
    assert find_leftovers(folder) == []
    assert lock_holder(folder) is None


def test_ctrl_c_at_any_moment(folder: RunFolder, ports: Ports) -> None:
    random_moment = random.Random(7)
    for _ in range(25):
        run = launch(folder, ports)
        time.sleep(random_moment.uniform(0.05, 0.9))
        run.send_signal(signal.SIGINT)
        if random_moment.random() < 0.4:  # impatient users press Ctrl-C twice
            time.sleep(random_moment.uniform(0, 0.02))
            run.send_signal(signal.SIGINT)
        run.communicate(timeout=20)
        assert run.returncode != 0
        assert find_leftovers(folder) == []


def test_kill_9_of_the_supervisor(folder: RunFolder, ports: Ports) -> None:
    run = launch(folder, ports)
    wait_up(run)
    run.kill()
    run.communicate(timeout=20)
    if death_signals() is None:
        assert sweep(folder) == ["one", "two", "three"]
    until(lambda: not find_leftovers(folder))


def test_the_next_start_sweeps_up(folder: RunFolder, ports: Ports) -> None:
    orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)", str(folder.path)])
    write_record(folder, [Started.of("orphan", orphan.pid)])
    run = launch(folder, ports)
    wait_up(run)
    assert orphan.wait(timeout=5) != 0
    run.terminate()
    _, err = run.communicate(timeout=20)
    assert "Stopped processes that an earlier run left behind: orphan." in err


def test_a_reused_pid_is_left_alone(folder: RunFolder) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"])
    try:
        item = Started.of("ours", other.pid)
        write_record(folder, [Started("ours", item.pid, item.created - 10)])
        assert sweep(folder) == []
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_one_run_per_port_base(folder: RunFolder, ports: Ports) -> None:
    first = launch(folder, ports)
    wait_up(first)
    second = launch(folder, ports)
    _, err = second.communicate(timeout=20)
    assert second.returncode == 1
    assert f"Port base {ports.base} already has a run (process {first.pid})" in err
    assert first.poll() is None
    first.terminate()
    first.communicate(timeout=20)


def test_a_broken_record_is_ignored(folder: RunFolder) -> None:
    folder.processes.write_text("{")
    assert sweep(folder) == []


def test_a_run_of_another_container_is_not_stopped_by_its_process_id(folder: RunFolder, ports: Ports) -> None:
    run, stranger = launch(folder, ports), subprocess.Popen(["sleep", "60"])
    wait_up(run)
    own = folder.lock.read_text()
    folder.lock.write_text(f"{stranger.pid}\n")
    with pytest.raises(MeshError, match=f"is process {stranger.pid} of another container"):
        stop_run(folder)
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
    folder.lock.write_text(own)
    assert stop_run(folder) == ["one", "two", "three"]
    run.communicate(timeout=20)
    assert run.returncode == 128 + signal.SIGTERM
