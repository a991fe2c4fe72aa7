"""The precision that a run was asked for."""

from __future__ import annotations

from typing import TypedDict


class Precision(TypedDict):
    """What a run with `precision=` was asked for, and what it reached; shares: 0.05 is 5 %.

    A precision is how far the 95 % interval of the ratio of two topologies' p50 of `all` reaches beyond the ratio, as a
    share of it, for the pair whose interval is the widest. `scatter` is how far single trials scatter,
    on average over the pairs, and `needed` how many blocks the precision takes by that; both are None if a pair has no
    interval. `first_stage` is how many blocks ran before anybody looked; `met` says whether as many ran as it takes.
    """

    asked: float
    first_stage: int
    scatter: float | None
    needed: int | None
    reached: float | None
    met: bool
