"""Probes: what a trial observes in addition to its journeys."""

from __future__ import annotations

from dataclasses import dataclass

SETTLE_S = 3.0
HOLD_S = 7.0
"""Estimated seconds until memory is steady at one number of connections."""


@dataclass(frozen=True, slots=True)
class Looking:
    """Samples the resources of components during the load."""

    every_s: float

    @property
    def takes_s(self) -> float:
        """How much longer the probe makes a trial, in seconds; a first guess."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Holding:
    """Holds numbers of connections open before the load, each until the memory of the components is steady."""

    counts: tuple[int, ...]

    @property
    def takes_s(self) -> float:
        return HOLD_S * len(self.counts)


@dataclass(frozen=True, slots=True)
class Watching:
    """Customers who wait for updates to their orders, from before the load starts until after it ends.

    Attributes:
        way: `push` for streams, `poll` for requests at an interval.
    """

    way: str
    watchers: int
    interval_s: float
    channel: str

    @property
    def settle_s(self) -> float:
        """Seconds after the load in which the last updates may arrive."""
        return SETTLE_S + (self.interval_s if self.way == "poll" else 0.0)

    @property
    def takes_s(self) -> float:
        return self.settle_s + SETTLE_S


Probe = Looking | Holding | Watching
