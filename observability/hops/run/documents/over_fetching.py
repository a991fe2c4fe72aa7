"""Fields and bytes of answers that no screen shows."""

from __future__ import annotations

from typing import TypedDict

from hops.run.documents.difference import Comparison
from hops.run.documents.estimate import Estimate


class OverFetching(TypedDict):
    """How much of a journey's answers in one topology its screen does not show, from journeys that were sent alone.

    `fields` are single values, and the screen does not show `fields_beyond` of them. These take `bytes_beyond` in
    bodies before compression, and `sent_beyond` in bodies as they came, both in their encoding, without headers.
    `sent_share` is the share of `sent_beyond` in the bodies as they came, 0 to 1. `ms` and `p50_share` are by network:
    the time that `sent_beyond` takes at its bandwidth, and the share of this time in the predicted p50. Below
    `matters_below_mbit`, at the run's round-trip time, that share is `MATTERS` or more; None if it is always less.
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


class Saving(TypedDict):
    """What selection saves of one journey, or of `all`, in one topology: arm `usual` minus arm `selecting`.

    `mean_ms` is the difference of the traced means, and `parts_ms` splits it by group (`hops.budget.groups.GROUPS`).
    `cpu` compares the CPU time of a journey, with `selecting` on the left; only `all` has it.
    """

    journey: str
    usual: str
    selecting: str
    mean_ms: Estimate
    parts_ms: dict[str, Estimate]
    cpu: Comparison | None
