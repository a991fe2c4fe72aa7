"""The notice above the figures of a run whose components were slowed by injected delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DELAYS = "delay_ms"


def delay_notice(switches: Mapping[str, Any]) -> str:
    """Says which components of a run were slowed, and by how much.

    Args:
        switches: of `summary.json` or the manifest.

    Returns:
        One sentence; empty if none was slowed.
    """
    delays: Mapping[str, float] = switches.get(DELAYS) or {}
    if not delays:
        return ""
    listed = ", ".join(f"{delay:g} ms in {component}" for component, delay in delays.items())
    return f"DELAY INJECTED: {listed}, in every request. These figures are not the shop's own."
