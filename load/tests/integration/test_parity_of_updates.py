"""Customers are told the same over REST and GraphQL, through the edge and all services, by this workload.

The suite of updates has each protocol, and `test_watchers.py` gRPC and both gateways.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment.arguments import WORKLOADS
from experiment.generator.shopload import BINARY, Shopload, Tape
from experiment.generator.tapes import parity_tape
from experiment.parity.across import check_topologies
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`"),
]


def test_customers_are_told_the_same_over_each_protocol(shop_ports: Ports) -> None:
    shopload = Shopload(BINARY)

    def tape(out: Path) -> Tape:
        return parity_tape(shopload, out, 2, seed=1, scale=1, workload=WORKLOADS / "updates.yaml")

    topologies = [load_topology(name, updates="on") for name in ("rest", "graphql")]
    switches = parse_switches(trace=0, updates="on")
    compared = check_topologies(topologies, switches, shop_ports, shopload, tape, say=print)
    assert [one.compared["notifications"] for one in compared] == [4] * len(topologies)
