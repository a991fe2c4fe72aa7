"""The requested and the reached precision of a run."""

from __future__ import annotations

from typing import TypedDict


class Precision(TypedDict):
    """The precision that a run with `precision=` requested and reached; shares: 0.05 is 5 %.

    Precision is how far a 95 % interval extends beyond its ratio, as a share of the ratio. The ratio is that of two
    topologies' p50 of `all`, and the pair with the widest interval counts. `scatter` is the scatter of single trials,
    averaged over the pairs. `needed` is the number of blocks that the precision needs with that scatter. Both are None
    if a pair has no interval. `first_stage` is the number of blocks that ran before any were read; `met` says whether
    enough blocks ran.
    """

    asked: float
    first_stage: int
    scatter: float | None
    needed: int | None
    reached: float | None
    met: bool
