"""`make audit` checks the running topology or, if none runs, the data that a run left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mesh.components.postgres import database
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.description.ports import Ports
from mesh.paths import RunFolder
from mesh.supervisor.running_state import read_state, write_state

pytestmark = pytest.mark.timeout(300)


def python(ports: Ports, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", *arguments]
    environ = {**os.environ, "SHOP_PORT_BASE": str(ports.base), "DATABASE_URL": ""}
    return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False, timeout=200)


def test_a_running_topology_can_be_audited_unless_its_data_are_in_memory(shop_ports: Ports) -> None:
    up = python(shop_ports, "mesh", "up", "--topology", "grpc", "--detach")
    try:
        assert up.returncode == 0, up.stderr
        whole = python(shop_ports, "experiment", "audit")
        assert whole.returncode == 0, whole.stderr
        assert "Auditing the topology that is up: grpc" in whole.stderr
        assert "BROKEN" not in whole.stdout
        url = database(shop_ports, {}, RunFolder.of(shop_ports.base)).admin_url
        with psycopg.connect(make_conninfo(url, dbname=TRIAL_DATABASE)) as connection:
            connection.execute("UPDATE shop_product.product SET stock = stock - 1 WHERE id = 5")
        broken = python(shop_ports, "experiment", "audit", "--json")
        assert broken.returncode == 1
        assert not json.loads(broken.stdout)["ok"]
        named = python(shop_ports, "experiment", "audit", "--run", "no-such-run")
        assert named.returncode == 2
        assert "run=no-such-run is not a finished run" in named.stderr
        check_that_memory_is_refused(shop_ports)
    finally:
        python(shop_ports, "mesh", "down")


def check_that_memory_is_refused(ports: Ports) -> None:
    """Changes the recorded state of the running shop, so that it says that the shop's data are in memory."""
    folder = RunFolder.of(ports.base)
    state = read_state(folder)
    assert state is not None
    write_state(folder, replace(state, switches={**state.switches, "store": "memory"}))
    refused = python(ports, "experiment", "audit")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "grpc cannot be audited: with store=memory" in refused.stderr
