"""A run's description of itself in `manifest.json`: the keys that every reader needs."""

# This module evaluates its annotations: in textual annotations, `NotRequired` would not affect `__required_keys__`.
from typing import Any, NotRequired, TypedDict


class Tapes(TypedDict):
    """SHA-256 of the tape of the counted load."""

    load: str


class Seeds(TypedDict):
    """Seeds of the random draws."""

    tape: int
    data: int
    bootstrap: int


class Profile(TypedDict):
    """Seconds of warm-up and counted load, and the rate in journeys a second, which is None in a closed loop."""

    warmup_s: float
    duration_s: float
    rate: float | None


class Manifest(TypedDict):
    """A run's kind, name, plan and surroundings; each kind of experiment adds its own keys."""

    kind: str
    name: str
    mode: str
    git: dict[str, Any]
    topologies: dict[str, dict[str, Any]]
    switches: dict[str, Any]
    profile: Profile
    closed: dict[str, Any] | None
    workload: str
    seeds: Seeds
    tapes: Tapes
    machine: NotRequired[dict[str, Any]]
    cluster: NotRequired[dict[str, Any]]
    versions: NotRequired[dict[str, Any]]
    arms: NotRequired[dict[str, dict[str, Any]]]
