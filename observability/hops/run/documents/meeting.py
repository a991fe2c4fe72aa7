"""What ran at the same time, in `summary.json`."""

# Annotations are evaluated, so that older summaries, which lack optional keys, can be read.
from typing import NotRequired, TypedDict

from hops.run.documents.estimate import Estimate


class Meeting(TypedDict):
    """How much longer journeys of one kind take if another journey arrived shortly before them.

    `journey` is the kind that arrives, `all` for every journey. `met` is the kind of the other journey, which arrived
    earlier by at most its kind's median duration. `share` is the share of journeys that met such a journey, 0 to 1.
    `more` is how much longer these took on average than similar journeys, ms. `mean_ms` is the product: what meetings
    add to the mean over all journeys.

    `percentiles` has the differences of p50 and p99, ms; p99 only with enough journeys. `beyond_p99` is, among the
    journeys above p99, the share that met such a journey; None if too few journeys are above p99. Older summaries lack
    `percentiles` and `beyond_p99`.
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

    `met` is that kind; `all` is any kind. From its arrival on, a journey is usually under way for the kind's median
    duration; `share` is the share of time that these durations cover. `mean_ms` is the mean wait of a traced journey.
    `beyond_p99_ms` is the mean wait of journeys above the topology's p99, and `beyond_p99` their number; None if these
    are too few. A wait during several journeys counts for each of them.
    """

    topology: str
    component: str
    met: str
    share: float
    mean_ms: float
    beyond_p99: int
    beyond_p99_ms: float | None
