from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mesh.components.postgres_owner import remove_cluster
from mesh.description.ports import Ports
from mesh.paths import RunFolder


@pytest.fixture
def ports(free_ports: Callable[[], Ports]) -> Ports:
    return free_ports()


@pytest.fixture
def folder(tmp_path: Path, ports: Ports) -> Iterator[RunFolder]:
    """A run's folder, outside of the checkout."""
    made = RunFolder.of(ports.base, root=tmp_path)
    yield made
    remove_cluster(made)
    made.remove_sockets()
