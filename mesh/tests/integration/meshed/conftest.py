"""A shop with monitoring, plugins and a cache, shared by the tests of this folder: without a mesh, and in each mesh."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stand_ins import needs_istio

from mesh.components.postgres_owner import remove_cluster
from mesh.components.prometheus import PROMETHEUS
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.native.system import System
from mesh.paths import RunFolder

MONITOR = shutil.which(PROMETHEUS) is not None


@pytest.fixture(scope="package")
def ports(free_ports: Callable[[], Ports]) -> Ports:
    return free_ports()


@pytest.fixture(scope="package")
def folder(ports: Ports) -> Iterator[RunFolder]:
    """The folder of all shops, which share one database."""
    # Other users may enter its parent folder, but not pytest's folders.
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        made = RunFolder.of(ports.base, Path(root))
        yield made
        remove_cluster(made)


@pytest.fixture(
    scope="package",
    params=[("none", "off"), ("envoy", "on"), pytest.param(("istio", "on"), marks=needs_istio)],
    ids="-mtls-".join,
)
def shop(request: pytest.FixtureRequest, ports: Ports, folder: RunFolder) -> Iterator[System]:
    mesh, mtls = request.param
    switches = parse_switches(mesh=mesh, mtls=mtls, plugins="all", cache="valkey", metrics="on")
    with System(load_topology("hybrid"), switches, ports, "meshed", folder=folder, monitor=MONITOR) as system:
        yield system


@pytest.fixture
def meshed(shop: System) -> System:
    """The shop, if it is in a mesh."""
    if shop.switches.mesh == "none":
        pytest.skip("this shop is in no mesh")
    return shop
