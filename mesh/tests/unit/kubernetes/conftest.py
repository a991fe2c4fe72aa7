"""A fake cluster with answers set by the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_ins.cluster import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    """An empty cluster whose user may do everything."""
    (tmp_path / "bin").mkdir()
    fake = FakeCluster(tmp_path / "bin")
    fake.says("", "")
    fake.says("config current-context", "kind\n")
    fake.says("version", {"serverVersion": {"gitVersion": "v1.36.3"}})
    fake.says("auth can-i", "yes\n")
    return fake
