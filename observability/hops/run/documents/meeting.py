"""Who waits behind whom, in `summary.json`."""

from typing import TypedDict

from hops.run.documents.estimate import Estimate


class Meeting(TypedDict):
    """What it costs journeys of one kind to meet another one: to arrive while that is under way.

    `journey` is who arrives, `all` for every journey, and `met` who is under way. `share` is the share of the former
    that met one, 0 to 1; `more` is how much longer those took in the mean than they would have, ms, whatever else they
    met; `mean_ms` is what that makes of the mean over all: the product.
    """

    topology: str
    journey: str
    met: str
    meetings: int
    share: float
    more: Estimate
    mean_ms: float
