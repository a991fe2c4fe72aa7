"""What the summary of a run with faults has in addition to what every summary has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from hops.run.documents.trial import Fault

KIND: Final = "chaos"


class Struck(Fault):
    """One fault of one topology, in one block.

    Attributes:
        block: Number of the block, from 1.
        journeys: Number of journeys of the tape that were sent.
        failed: Number of failed journeys, by class.
        failed_journeys: Number of failed journeys, by kind of journey.
        messages: The most frequent errors, with their counts.
        lasted_s: How long the fault lasted; for a kill, until the component was ready again.
        failing_s: From the start of the fault to the arrival of the last journey that failed; 0 if no journey did.
        over: Whether the fault had ended, and no journey failed, in the last second of the load.
        before_ms: Latency of the journeys that ended ok and arrived before the fault, by percentile, such as `p50`.
        during_ms: Latency of the journeys that ended ok and arrived during the fault or in the second after it; empty
            if there are none.
    """

    block: int
    topology: str
    journeys: int
    failed: dict[str, int]
    failed_journeys: dict[str, int]
    messages: dict[str, int]
    lasted_s: float
    failing_s: float
    over: bool
    before_ms: dict[str, float]
    during_ms: dict[str, float]


def struck_of(summary: Mapping[str, object]) -> list[Struck]:
    """Lists every fault of a run, in the order of topologies and faults."""
    return cast("list[Struck]", summary[KIND])
