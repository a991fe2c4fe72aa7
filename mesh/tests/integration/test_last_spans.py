"""No span of the last request is lost, however soon after it the shop stops."""

from __future__ import annotations

import time
from collections import Counter

import httpx
import pytest
from stand_ins.stored_spans import stored_spans

from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.native.system import System

pytestmark = pytest.mark.integration

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
LIMIT_S = 10.0


def spans_in_jaeger(shop: System, least: int) -> Counter[str]:
    """Number of spans of the trace by component, as soon as there are that many."""
    limit = time.monotonic() + LIMIT_S
    counts: Counter[str] = Counter()
    while counts.total() < least and time.monotonic() < limit:
        time.sleep(0.05)
        counts = Counter()
        for resource, spans in stored_spans(shop, TRACE):
            counts[resource["service.name"]] += spans
    return counts


@pytest.mark.parametrize("tracing", ["lean", "sdk"])
def test_every_span_of_the_last_request_arrives(tracing: str, shop_ports: Ports) -> None:
    headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    with System(load_topology("rest"), parse_switches(tracing=tracing), shop_ports, "last spans") as shop:
        httpx.get(f"{shop.url}/v1/products/1", headers=headers, trust_env=False).raise_for_status()
        shop.stop_serving()
        assert spans_in_jaeger(shop, least=5) == {"edge": 2, "product": 3}
