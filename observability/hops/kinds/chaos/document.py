"""What the summary of a run with faults has in addition to what every summary has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from hops.run.documents.trial import Fault

KIND: Final = "chaos"


class Struck(Fault):
    """One fault of one topology, in one block.

    `journeys` of the tape were sent; `failed` ones are counted by class, `failed_journeys` by kind of journey, and
    `messages` are the most frequent errors. The fault lasted for `lasted_s`; a kill, until the component was ready
    again. `failing_s` is the time from its start to the arrival of the last journey that failed; 0 if no journey did.
    `over` says whether the fault had ended, and no journey failed, in the last second of the load. `before_ms` and
    `during_ms` are latencies of journeys that ended ok, by percentile, such as `p50`; empty if there are none. They are
    of arrivals before the fault, and of arrivals during it or in the second after it.
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
