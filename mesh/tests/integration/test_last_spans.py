"""With the SDK, no span of the last request is lost even if the shop stops immediately; `test_replicas.py` tests this
for lean tracing."""

from __future__ import annotations

import httpx
import pytest
from stand_ins.stored_spans import count_spans

from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.native.system import System

pytestmark = pytest.mark.integration

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_every_span_of_the_last_request_arrives(shop_ports: Ports) -> None:
    headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    with System(load_topology("rest"), parse_switches(tracing="sdk"), shop_ports, "last spans") as shop:
        httpx.get(f"{shop.url}/v1/products/1", headers=headers, trust_env=False).raise_for_status()
        shop.stop_serving()
        assert count_spans(shop, TRACE, least=5) == {"edge": 2, "product": 3}
