"""Queries to a running Prometheus, for tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import stand_ins
from mesh.native.system import System

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="there is no prometheus on PATH: nobody has asked for the metrics"
)


def ask(shop: System, path: str, **query: str) -> Any:
    """Sends a query to the shop's Prometheus; returns the answer."""
    answer = httpx.get(f"{shop.urls['Prometheus']}/api/v1/{path}", params=query, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def until(condition: Callable[[], Any]) -> Any:
    """Waits until a condition returns a true value, with pauses that spare Prometheus; returns that value."""
    return stand_ins.until(condition, pause_s=0.2)


def value(shop: System, query: str) -> float:
    found = ask(shop, "query", query=query)["result"]
    return float(found[0]["value"][1]) if found else 0.0
