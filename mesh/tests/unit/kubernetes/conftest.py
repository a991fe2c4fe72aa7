"""A cluster that says what a test wants."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_ins.cluster import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    """One that lets its user do everything, and has nothing in it."""
    (tmp_path / "bin").mkdir()
    fake = FakeCluster(tmp_path / "bin")
    fake.says("", "")
    fake.says("config current-context", "kind\n")
    fake.says("version", {"serverVersion": {"gitVersion": "v1.36.3"}})
    fake.says("auth can-i", "yes\n")
    return fake
