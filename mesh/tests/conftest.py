"""What the tests of `mesh` share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mesh.database_owner import remove_cluster
from mesh.paths import RunFolder
from mesh.ports import Ports, _free, load_ports

# Test processes that run side by side (pytest-xdist) take turns, so that two never try the same base.
_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_bases = itertools.count(24000 + (os.getppid() % 40) * 200 + _worker * 200, _workers * 200)


@pytest.fixture(scope="session")
def free_ports() -> Callable[[], Ports]:
    """Finds a port base whose ports are all free."""

    def find() -> Ports:
        for base in _bases:
            found = load_ports({"SHOP_PORT_BASE": str(base)})
            if all(_free(found[name]) for name in found.offsets):
                return found
        raise AssertionError("unreachable")

    return find


@pytest.fixture
def ports(free_ports: Callable[[], Ports]) -> Ports:
    """A port base whose ports are all free."""
    return free_ports()


@pytest.fixture
def folder(tmp_path: Path, ports: Ports) -> Iterator[RunFolder]:
    """A run's folder, away from the checkout's."""
    made = RunFolder.of(ports.base, root=tmp_path)
    yield made
    remove_cluster(made)
