"""The folders that set-up writes into."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".tools"
LOGS = TOOLS / "logs"
BIN = TOOLS / "bin"
SBOM = TOOLS / "sbom"
"""Folder of the software bills of materials."""
VENV = ROOT / ".venv"


def cache() -> Path:
    """The cache that all checkouts of this user share: `HOPWISE_CACHE`, else `hopwise` in the user's cache folder."""
    given = os.environ.get("HOPWISE_CACHE")
    if given:
        return Path(given).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "hopwise"
