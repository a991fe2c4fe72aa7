"""Customers get the same updates and screens over REST and GraphQL, through the edge and all services.

The suite of updates tests each protocol, and `test_watchers.py` tests gRPC and both gateways.
"""

from __future__ import annotations

from pathlib import Path

from experiment.arguments import WORKLOADS
from experiment.generator.shopload import BINARY, Shopload, Tape
from experiment.generator.tapes import parity_tape
from experiment.parity.across import check_topologies
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology

from ..needs import needs_generator

pytestmark = needs_generator


def test_workloads_get_the_same_answers_over_each_protocol(shop_ports: Ports, tmp_path: Path) -> None:
    shopload = Shopload(BINARY)
    screens = (WORKLOADS / "screens.yaml").read_text()
    shares = [line for line in (WORKLOADS / "updates.yaml").read_text().splitlines() if line.startswith("  - {")]
    both = tmp_path / "both.yaml"
    both.write_text(screens + "\n".join(shares) + "\n")

    def tape(out: Path) -> Tape:
        return parity_tape(shopload, out, 2, seed=1, scale=1, workload=both)

    topologies = [load_topology(name, updates="on") for name in ("rest", "graphql")]
    switches = parse_switches(trace=0, updates="on", selection="all")
    compared = check_topologies(topologies, switches, shop_ports, shopload, tape, say=print)
    for one in compared:
        assert one.compared["notifications"] == 4
        assert [one.compared[screen] for screen in ("product_card", "order_list", "product_feed")] == [2] * 3
