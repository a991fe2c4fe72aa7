"""`make watch`, short: customers wait behind sidecars, in both ways, while the tape buys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiment.cli import app
from experiment.commands import in_steps
from experiment.generator.shopload import BINARY
from mesh.description.ports import Ports

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`"),
]
SHORT = {"topologies": "hybrid", "watchers": "30", "blocks": "1", "duration": "6s", "interval": "1s", "mesh": "envoy"}


def test_who_waits_behind_sidecars_is_told_in_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop_ports: Ports
) -> None:
    monkeypatch.setattr(in_steps, "RESULTS", tmp_path)
    arguments = [part for name, value in SHORT.items() for part in (f"--{name}", value)]
    done = CliRunner(env={"SHOP_PORT_BASE": str(shop_ports.base)}).invoke(app, ["watch", *arguments, "--json"])
    assert done.exit_code == 0, done.stderr
    waited = json.loads(done.stdout)["waited"]
    assert {(one["way"], one["watchers"], one["protocol"]) for one in waited} == {
        ("push", 0, ""),
        ("push", 30, "graphql"),
        ("poll", 0, ""),
        ("poll", 30, "graphql"),
    }
    for one in waited:
        assert (one["failed"], one["missed"], one["off_ns"]) == (0, 0, 0)
        if one["watchers"]:
            assert min(one["updates"], one["traced"], one["bytes"]) > 0
    pushed = next(one for one in waited if one["way"] == "push" and one["watchers"])
    assert any(part.startswith("proxy:") for part in pushed["budget_ms"])
