"""Units and names that all of hops shares."""

from __future__ import annotations

NS_PER_MS = 1e6


ALL = "all"
