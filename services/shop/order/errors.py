"""The error that only the order service's own parts see."""

from __future__ import annotations

from shop.errors import Conflict


class TakenOver(Conflict):
    """Another process drives the saga now, since this one seemed to have died; this one must not touch it again."""
