"""Running shops that the tests in this folder share; no test changes data that another test reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.native.system import System

SHOPS = {
    "rest": ("rest", Switches(trace=0.0)),
    "grpc": ("grpc", Switches(trace=0.0)),
    "hybrid over TLS": ("hybrid", Switches(trace=0.0, tls="on", http=3)),
    "grpc over TLS": ("grpc", Switches(trace=0.0, tls="on")),
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups the tests by shop, so that each shop starts once."""
    places = [place for place, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    ours = sorted((items[place] for place in places), key=lambda item: list(SHOPS).index(item.callspec.params["shop"]))
    for place, item in zip(places, ours, strict=True):
        items[place] = item


@pytest.fixture(scope="package")
def shop(request: pytest.FixtureRequest, shop_ports: Ports) -> Iterator[System]:
    """The running shop that a test names by `parametrize(..., indirect=["shop"])`."""
    topology, switches = SHOPS[request.param]
    with System(load_topology(topology), switches, shop_ports, "running", interactive=True) as system:
        yield system
