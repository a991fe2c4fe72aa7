"""What a run says about itself, as `manifest.json` keeps it: the keys that every reader needs."""

# Annotations are evaluated here: as text, `NotRequired` would not count in `__required_keys__`.
from typing import Any, NotRequired, TypedDict


class Tapes(TypedDict):
    """SHA-256 of the tape of the counted load."""

    load: str


class Seeds(TypedDict):
    """Seeds of what was drawn."""

    tape: int
    data: int
    bootstrap: int


class Profile(TypedDict):
    """How long the warm-up and the counted load take, in seconds, and its journeys a second; None in a closed loop."""

    warmup_s: float
    duration_s: float
    rate: float | None


class Manifest(TypedDict):
    """A run's kind, name, plan and surroundings; kinds of experiment add keys of their own."""

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
