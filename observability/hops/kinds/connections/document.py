"""What `make connections` leaves: `connections.json`."""

from __future__ import annotations

from typing import Any, TypedDict


class Held(TypedDict):
    """One number of connections in one block, held by one topology.

    `dialed` is how many were really opened. `memory_mb` is the proportional set size of each component, in MiB: pages
    that processes share count once. `steady` says whether it had come to rest.
    """

    block: int
    topology: str
    connections: int
    dialed: int
    memory_mb: dict[str, float]
    steady: bool


class Document(TypedDict):
    """The whole run; `counts` are the numbers of connections, ascending."""

    schema: int
    name: str
    manifest: dict[str, Any]
    counts: list[int]
    blocks: int
    held: list[Held]
