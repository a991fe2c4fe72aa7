"""Customers who wait for news of their orders miss none, whatever is killed meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from experiment.arguments import workload_file
from experiment.generator.shopload import BINARY, Load, Shopload
from experiment.kinds.watch import positions, told_to
from mesh.components.postgres import POSTGRES
from mesh.components.shop_processes import Data
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import EDGE, load_topology
from mesh.native.system import System

WATCHERS = 60
RATE, LOAD_S, PAUSE_S = 20.0, 14.0, 3.0
RECONNECT_S = 10.0
"""How long a watcher may be without a stream."""

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`"),
]


@pytest.mark.parametrize(
    ("topology", "channel", "killed"),
    [
        ("grpc", "web", ["notification", EDGE, "order", POSTGRES]),
        ("hybrid", "partner", ["rest-gateway", "notification", EDGE, "order"]),
        ("hybrid", "web", ["graphql-gateway", "notification", EDGE, "order"]),
        ("graphql", "web", ["graphql-gateway", "notification", EDGE, POSTGRES]),
    ],
)
def test_kills_make_nobody_miss_an_update(
    tmp_path: Path, free_ports: Callable[[], Ports], topology: str, channel: str, killed: list[str]
) -> None:
    shopload, switches = Shopload(BINARY), parse_switches(updates="on")
    tape = shopload.tape(
        workload_file("default"), tmp_path / "tape.jsonl", seed=1, rate=RATE, duration_s=LOAD_S, scale=1
    )
    load, folder = Load(tape, LOAD_S), tmp_path / "watchers"
    seconds = LOAD_S + RECONNECT_S
    with System(load_topology(topology, updates="on"), switches, free_ports(), "kills", data=Data()) as system:
        before = positions(system)
        with shopload.watching(tape, system.target, folder, WATCHERS, "push", 5.0, seconds, channel) as watchers:
            replay = shopload.start_replay(load, system.target, tmp_path / "replay", trace=0)
            for component in killed:
                time.sleep(PAUSE_S)
                system.kill(component)
                system.restart(component)
            shopload.finish_replay(replay)
            assert watchers.wait(timeout=2 * seconds) == 0
        told = told_to(system, folder, before)
    assert told["missed"] == 0
    assert told["updates"] > WATCHERS / 2
    assert told["reconnects"] >= WATCHERS
    assert told["longest_reconnect_s"] < RECONNECT_S
