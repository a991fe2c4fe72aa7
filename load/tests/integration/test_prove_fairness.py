"""One short round of `make prove-fairness`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mesh.description.ports import Ports
from mesh.errors import InputError
from mesh.paths import ROOT
from proofs.under_faults.fairness import Figures, Outcome, attacks_of

pytestmark = pytest.mark.integration
SECONDS, RATE = 2, 10


def test_others_are_probed_alone_with_an_attack_and_with_valid_clients(shop_ports: Ports) -> None:
    command = [sys.executable, "-m", "proofs", "fairness", "--attacks", "idle", "--rounds", "1", "--json"]
    argv, environ = [*command, "--seconds", str(SECONDS)], {**os.environ, "SHOP_PORT_BASE": str(shop_ports.base)}
    done = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode in (0, 1), done.stderr
    (outcome,) = json.loads(done.stdout)["rows"]
    windows = outcome["windows"]
    assert [window["asked"] for window in windows.values()] == 3 * [SECONDS * RATE]
    assert windows["alone"]["served"]
    assert windows["attacked"]["sent"]["opened"]
    assert windows["valid clients"]["sent"]["ok"]
    assert done.returncode == (0 if outcome["holds"] else 1)


@pytest.mark.parametrize(
    ("alone", "served", "holds"), [(100, 100, True), (95, 98, True), (100, 97, False), (94, 100, False)]
)
def test_an_attack_may_not_cost_others_more_than_valid_clients_do(alone: int, served: int, holds: bool) -> None:
    shares = {"alone": alone, "attacked": served, "valid clients": 100}
    windows = {name: Figures(asked=100, served=share) for name, share in shares.items()}
    assert Outcome("idle", windows).holds is holds


def test_the_attacks_need_an_edge() -> None:
    command = [sys.executable, "-m", "proofs", "fairness", "--attacks", "idle", "--edge", "none"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "edge=none: only an edge leads to both gateways" in done.stderr) == (2, True), done.stderr


def test_an_unknown_attack_is_named_with_the_valid_ones() -> None:
    with pytest.raises(InputError, match=r"attacks=idle,smoke: smoke is unknown; valid: recursive, wide, head"):
        attacks_of("idle,smoke")
