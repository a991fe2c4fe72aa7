"""What caches answered: the services' caches, and a shared cache in front of the edge."""

from __future__ import annotations

from typing import TypedDict


class CacheCounts(TypedDict):
    """One component's use of its cache during the load: rows requested, rows found, and requests without an answer."""

    asked: int
    hits: int
    unanswered: int


class EdgeCacheCounts(TypedDict):
    """What a shared cache in front of the edge did during the load.

    `requests` are the clients', and `hits` the requests among them that it answered from the cache. `fetches` are its
    requests to the edge. `bytes` are headers and bodies between cache and edge, in both directions.
    """

    requests: int
    hits: int
    fetches: int
    bytes: int


NOTHING_ASKED = CacheCounts(asked=0, hits=0, unanswered=0)
