"""What ran at the same time, in `summary.json`."""

# Annotations are evaluated here, so that older summaries, which lack what is not required, can be read.
from typing import NotRequired, TypedDict

from hops.run.documents.estimate import Estimate


class Meeting(TypedDict):
    """How much longer journeys of one kind take that meet another one: that soon follow it.

    `journey` is the kind that arrives, `all` for every journey, and `met` the kind of which one arrived before, within
    its median duration. `share` is the share of the former that met one, 0 to 1; `more` is how much longer those took
    in the mean than others like them, ms; `mean_ms` is that as a part of the mean over all: the product. `percentiles`
    has by how much their p50 and p99 are higher, ms, p99 only of enough journeys. `beyond_p99` is the share that met
    one of those above the p99 of all the former; None if these are too few. Older summaries have neither.
    """

    topology: str
    journey: str
    met: str
    meetings: int
    share: float
    more: Estimate
    mean_ms: float
    percentiles: NotRequired[dict[str, Estimate]]
    beyond_p99: NotRequired[float | None]


class Queue(TypedDict):
    """How long calls waited for a busy component while a journey of one kind is usually under way.

    `met` is that kind; `all` is any. From an arrival on, one is usually under way for the kind's median duration;
    `share` is the share of the time. `mean_ms` is the wait of a traced journey in the mean, and `beyond_p99_ms` that of
    those above the topology's p99, of which there are `beyond_p99`; None if these are too few. A wait that falls into
    several journeys is with each of them.
    """

    topology: str
    component: str
    met: str
    share: float
    mean_ms: float
    beyond_p99: int
    beyond_p99_ms: float | None
