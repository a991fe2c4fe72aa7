"""How often services found in their cache what they asked for."""

from __future__ import annotations

from typing import TypedDict


class CacheCounts(TypedDict):
    """What one component asked its cache during the load: rows, those that it had, and questions without an answer."""

    asked: int
    hits: int
    unanswered: int


NOTHING_ASKED = CacheCounts(asked=0, hits=0, unanswered=0)
