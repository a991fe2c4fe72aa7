"""`make soak`, short: real components are looked at, and what is too short says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiment.cli import app
from experiment.commands import in_steps
from experiment.commands.options import DOUBTFUL
from experiment.generator.shopload import BINARY
from experiment.kinds import soak
from mesh.description.ports import Ports

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`"),
]


def test_every_component_is_looked_at_and_a_short_load_tells_no_growth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop_ports: Ports
) -> None:
    monkeypatch.setattr(in_steps, "RESULTS", tmp_path)
    monkeypatch.setattr(soak, "SHORTEST_MIN", 0.1)
    arguments = ["soak", "--topologies", "grpc", "--minutes", "0.2", "--json"]
    done = CliRunner(env={"SHOP_PORT_BASE": str(shop_ports.base)}).invoke(app, arguments)
    assert done.exit_code == DOUBTFUL, done.stderr
    (one,) = json.loads(done.stdout)["soaked"]
    assert (one["failed"], one["broken"]) == (0, [])
    gates = {gate["name"] for gate in one["gates"]}
    assert gates >= {"tape_unsent", "start_lag_p99_ms", "generator_cores", "steal_share", "other_cores"}
    assert one["journeys"] > 100
    looks = len(one["at_s"])
    assert looks == len(one["database_mb"]) > 3
    components = {"product", "order", "user", "payment", "notification", "edge", "postgres", "jaeger"}
    assert set(one["held"]) == components
    for held in one["held"].values():
        assert {len(values) for values in held.values()} == {looks}
        assert min(held["memory_mb"]) > 1
        assert min(held["descriptors"]) > 3
        assert min(held["threads"]) > 0
    assert min(one["held"]["order"]["connections"]) > 3
    (report,) = tmp_path.glob("*/report.md")
    assert "too short to tell growth" in report.read_text()
