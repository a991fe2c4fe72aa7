"""What `make chaos` leaves: `chaos.json`."""

from __future__ import annotations

from typing import Any, TypedDict

from hops.run.documents.gate import Gate


class Struck(TypedDict):
    """One fault of one topology, in one block.

    Attributes:
        block: From 1.
        topology: What had it.
        fault: The fault and its target: `kill:order`.
        about: What was done, in words.
        journeys: Journeys of the tape that were sent.
        failed: How many failed, by class.
        failed_journeys: The same, by kind of journey.
        messages: The most frequent errors, and how often each came.
        lasted_s: How long the fault lasted; of a kill, until the component was ready again.
        failing_s: From the begin of the fault to the arrival of the last journey that failed; 0 if none did.
        over: Whether the fault had ended, and no journey failed, in the last second of the load.
        before_ms: Latency of the journeys that ended ok and arrived before the fault, by name of a percentile: `p50`.
        during_ms: The same of those that arrived during it and in the second after it; empty if none ended ok.
        checkouts: Purchases that customers were told of, repeated ones included.
        repeated: Purchases without an answer or with an error, which were asked for once more with the same key.
        unanswered: How many of these failed again.
        settle_s: How long after the load sagas were under way or updates waited to be delivered.
        unsettled: How many still were at the end; 0 if all is well.
        broken: Promises about the shop's data that do not hold.
        gates: What says whether the figures may be trusted; a broken promise is a gate as well.
    """

    block: int
    topology: str
    fault: str
    about: str
    journeys: int
    failed: dict[str, int]
    failed_journeys: dict[str, int]
    messages: dict[str, int]
    lasted_s: float
    failing_s: float
    over: bool
    before_ms: dict[str, float]
    during_ms: dict[str, float]
    checkouts: int
    repeated: int
    unanswered: int
    settle_s: float
    unsettled: int
    broken: list[str]
    gates: list[Gate]


class Document(TypedDict):
    """The whole run; `blocks` is how often each topology had each fault, `rate` the journeys a second."""

    schema: int
    name: str
    manifest: dict[str, Any]
    blocks: int
    rate: float
    struck: list[Struck]
