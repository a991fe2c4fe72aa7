"""What answers have beyond what screens show."""

from __future__ import annotations

from typing import TypedDict

from hops.run.documents.estimate import Estimate


class OverFetching(TypedDict):
    """What one topology sends of one journey beyond what its screen shows, from journeys that were sent alone.

    `fields` are single values, and the screen does not show `fields_beyond` of them. `bytes_beyond` are those of
    bodies before compression, `sent_beyond` of bodies as they came, both in their encoding, without headers.
    `sent_share` is their share of the bodies as they came, 0 to 1. `ms` and `p50_share` say by the name of a network
    what `sent_beyond` take there at its bandwidth, and their share of the predicted p50. Below
    `matters_below_mbit`, at the run's round-trip time, the share is `MATTERS` or more; None if it never is.
    """

    topology: str
    journey: str
    fields: float
    fields_beyond: float
    bytes_beyond: Estimate
    sent_beyond: Estimate
    sent_share: float
    ms: dict[str, float]
    p50_share: dict[str, float]
    matters_below_mbit: float | None
