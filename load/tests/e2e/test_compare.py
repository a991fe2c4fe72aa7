"""`make compare` as a user runs it: wrong input, Ctrl-C, going on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "results"
BASE = 21800
LIMIT_S = 400
MAKE_FAILED = 2

pytestmark = pytest.mark.e2e


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SHOP_PORT_BASE": str(BASE), "NO_COLOR": "1"}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def listening() -> list[int]:
    ports = range(BASE, BASE + 200)
    found = psutil.net_connections(kind="tcp")
    return [one.laddr.port for one in found if one.status == psutil.CONN_LISTEN and one.laddr.port in ports]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # each names what was given and what may be given
        (["topologies=rest,soap"], "hybrid-transcoded"),
        (["topologies=rest,rest"], "rest is named twice"),
        (["blocks=0"], "from 1 to 100"),
        (["blocks=many"], "from 1 to 100"),
        (["retry=9"], "from 0 to 5"),
        (["profile=huge"], "smoke, compare, quick, full"),
        (["resume=nothing"], "no interrupted compare"),
        (["resume=latest", "rate=5"], "leave out rate"),
        (["topology=rest"], "compare has no setting topology; it has: topologies"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(arguments: list[str], message: str) -> None:
    before = sorted(RESULTS.glob("*compare*"))
    done = make("compare", *arguments)
    assert done.returncode == MAKE_FAILED
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(RESULTS.glob("*compare*")) == before
    assert listening() == []


@pytest.fixture
def interrupted() -> str:
    """The name of an experiment that Ctrl-C ended in its first trial."""
    before = set(RESULTS.glob("*-compare.incomplete"))
    running = subprocess.Popen(
        ["make", "compare", "topologies=grpc,hybrid", "blocks=1", "profile=smoke", "rate=10"],
        cwd=ROOT,
        env={**os.environ, "SHOP_PORT_BASE": str(BASE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(12)
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode != 0
    assert "Traceback" not in errors
    (kept,) = set(RESULTS.glob("*-compare.incomplete")) - before
    return kept.name.removesuffix(".incomplete")


def test_what_ctrl_c_ended_goes_on_to_its_end(interrupted: str) -> None:
    assert listening() == []
    done = make("compare", f"resume={interrupted}")
    # one block: figures and no comparison; on a noisy machine SUSPECT, which make tells as a failure
    assert done.returncode in (0, MAKE_FAILED), done.stderr
    assert "VALID" in done.stdout or "SUSPECT" in done.stdout
    assert (RESULTS / interrupted / "report.html").is_file()
    assert listening() == []
