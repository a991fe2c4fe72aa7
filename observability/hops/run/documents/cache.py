"""What caches answered: those of services, and a shared one in front of the edge."""

from __future__ import annotations

from typing import TypedDict


class CacheCounts(TypedDict):
    """What one component asked its cache during the load: rows, those that it had, and questions without an answer."""

    asked: int
    hits: int
    unanswered: int


class EdgeCacheCounts(TypedDict):
    """What a shared cache in front of the edge did during the load.

    `requests` are the clients', and `hits` the requests among them that it answered from what it had. `fetches` are its
    requests to the edge. `bytes` are headers and bodies of both ways between the two.
    """

    requests: int
    hits: int
    fetches: int
    bytes: int


NOTHING_ASKED = CacheCounts(asked=0, hits=0, unanswered=0)
