"""`make prove-delays` and `make prove-resume`, small, and the switch that they need, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "results"
BASE = 22200
LIMIT_S = 900
MAKE_FAILED = 2

pytestmark = pytest.mark.e2e


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SHOP_PORT_BASE": str(BASE), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def listening() -> list[int]:
    ports = range(BASE, BASE + 100)
    found = psutil.net_connections(kind="tcp")
    return [one.laddr.port for one in found if one.status == psutil.CONN_LISTEN and one.laddr.port in ports]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "delay=bank:2ms"], "bank is an unknown component; valid: product, user, payment, order"),
        (["bench", "delay=payment:2"], "give COMPONENT:TIME"),
        (["bench", "topology=rest", "delay=rest-gateway:2ms"], "rest does not run rest-gateway"),
        (["up", "delay=payment:2s"], "out of range; valid: above 0 (from 1us) to 1s"),
        (["compare", "topologies=hybrid,rest", "delay=rest-gateway:2ms"], "rest does not run rest-gateway"),
        (["prove-delays", "hops=bank"], "choose from payment"),
        (["prove-delays", "sizes=2"], "is no delay"),
        (["prove-delays", "blocks=2"], "give at least 3"),
        (["prove-delays", "resume=nothing"], "no interrupted proof"),
        (["prove-resume", "kills=0"], "from 1 to 100"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(arguments: list[str], message: str) -> None:
    before = sorted(RESULTS.glob("*prove-*"))
    done = make(*arguments)
    assert done.returncode == MAKE_FAILED
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(RESULTS.glob("*prove-*")) == before
    assert listening() == []


def test_a_system_that_is_slowed_says_so() -> None:
    try:
        done = make("up", "delay=payment:2ms,user:500us")
        assert done.returncode == 0, done.stderr
        assert "DELAYED" in done.stdout
        assert "payment by 2 ms, user by 0.5 ms" in done.stdout
        assert "DELAYED: payment by 2 ms" in " ".join(make("status").stdout.split())
    finally:
        make("down")
    assert listening() == []


def test_a_delay_is_found_where_it_is() -> None:
    done = make("prove-delays", "hops=payment", "sizes=5ms", "blocks=3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 delays found" in done.stdout
    newest = max(RESULTS.glob("2*-prove-delays/proof.json"))
    assert json.loads(newest.read_text())["holds"]
    assert listening() == []


def test_an_experiment_that_is_killed_loses_nothing() -> None:
    done = make("prove-resume", "kills=3", "blocks=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 2 trials are there" in done.stdout
    assert listening() == []
