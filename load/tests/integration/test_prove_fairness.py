"""One short round of `make prove-fairness`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from typer.testing import CliRunner

from mesh.description.ports import Ports
from mesh.paths import ROOT
from proofs.__main__ import app
from proofs.under_faults.fairness import Figures, Outcome

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
    ("alone", "served", "result", "holds"),
    [
        (100, 100, "opened", True),
        (95, 98, "opened", True),
        (100, 97, "opened", False),
        (94, 100, "opened", False),
        (100, 100, "404", False),
    ],
)
def test_an_attack_must_meet_the_shop_and_cost_others_no_more_than_valid_clients_do(
    alone: int, served: int, result: str, holds: bool
) -> None:
    shares = {"alone": alone, "attacked": served, "valid clients": 100}
    windows = {name: Figures(asked=100, served=share, sent=Counter({result: 1})) for name, share in shares.items()}
    assert Outcome("idle", windows).holds is holds


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--edge", "none"], "edge=none: only an edge leads to both gateways"),
        (["--attacks", "idle,fire"], "attacks=idle,fire: fire is unknown; "),
    ],
)
def test_a_wrong_setting_is_refused(option: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["fairness", *option])
    assert (done.exit_code, message in " ".join(done.stderr.split())) == (2, True), done.stderr
