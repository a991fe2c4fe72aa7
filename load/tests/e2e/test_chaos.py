from __future__ import annotations

import time

import psutil
import pytest

pytestmark = pytest.mark.e2e
STARTED_S = 120


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["faults=nope"], "faults=nope: 'nope' is unknown; valid: all, kill, freeze"),
        (["faults=kill:moon"], "kill has no target 'moon' here; its targets: edge"),
        (["blocks=-1"], "blocks=-1 is not valid: give an integer from 1 to 100"),
        (["topologies=nope"], "nope"),
        (["resume=nothing"], "resume=nothing is not an interrupted chaos"),
    ],
)
def test_wrong_input_is_refused(refused, given: list[str], message: str) -> None:
    refused([*given, "chaos"], message)


def test_ctrl_c_while_the_database_is_stopped_leaves_nothing_behind(terminal) -> None:
    running = terminal.start("topologies=grpc", "faults=freeze:postgres", "chaos")
    give_up_at = time.monotonic() + STARTED_S
    while not stopped(running.pid):
        assert running.poll() is None, "it ended by itself"
        assert time.monotonic() < give_up_at, "nothing was ever stopped"
        time.sleep(0.05)
    terminal.interrupt(running)
    assert terminal.left_over() == []


def stopped(pid: int) -> bool:
    """Whether a child of this process is stopped."""
    children = psutil.Process(pid).children(recursive=True)
    return any(psutil.pid_exists(child.pid) and child.status() == psutil.STATUS_STOPPED for child in children)
