"""What `make soak` leaves: `soak.json`."""

from __future__ import annotations

from typing import Any, TypedDict

from hops.run.documents.gate import Gated


class Held(TypedDict):
    """What a component's processes held at each look: MiB of memory that is not there to be shared, and counts."""

    memory_mb: list[float]
    descriptors: list[int]
    threads: list[int]
    connections: list[int]


class Soaked(Gated):
    """One topology under load.

    Attributes:
        topology: Its name.
        journeys: Journeys that were sent.
        failed: How many of them failed.
        broken: Promises about the shop's data that do not hold.
        at_s: When each look was, in seconds of the load.
        held: What was seen at these looks, by component.
        database_mb: Size of the database at these looks, in MiB.
        minutes_s: Middle of each minute of the load, in seconds.
        latency_ms: Latency in each minute of journeys that ended ok, by name of a percentile: `p50`.
    """

    topology: str
    journeys: int
    failed: int
    broken: list[str]
    at_s: list[float]
    held: dict[str, Held]
    database_mb: list[float]
    minutes_s: list[float]
    latency_ms: dict[str, list[float]]


class Document(TypedDict):
    """The whole run; `minutes` is how long each topology was under load, `rate` the journeys a second."""

    schema: int
    name: str
    manifest: dict[str, Any]
    minutes: float
    rate: float
    soaked: list[Soaked]
