"""A process that waits for its database has done its imports by then; the tests in `contract` start every process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest


@pytest.mark.parametrize(("protocol", "framework"), [("REST", "fastapi"), ("GRAPHQL", "strawberry")])
def test_a_process_imports_before_its_database_is_there(
    protocol: str, framework: str, role_url: Callable[[str], str], free_address: str
) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "SHOP_COMPONENT": "product",
        f"SHOP_LISTEN_{protocol}": free_address,
        "SHOP_DATABASE_URL": f"{role_url('product').rpartition('/')[0]}/not_yet",
        "SHOP_AWAIT_STDIN": "on",
        "PYTHONPROFILEIMPORTTIME": "1",
    }
    command, pipe = [sys.executable, "-m", "shop.product"], subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stderr=pipe, text=True) as running:
        assert any(line.rstrip().endswith(f" {framework}") for line in running.stderr or ())
        assert running.poll() is None
        _, said = running.communicate("", timeout=20)
    assert running.returncode == 1
    assert "not_yet" in said
