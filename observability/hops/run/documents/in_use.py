"""How busy a run kept the processors, in `summary.json`."""

from __future__ import annotations

from typing import TypedDict


class InUse(TypedDict):
    """How busy one topology kept the processors during the load.

    `machine` is the share of all processors of the machine, or of the cluster, that everything started by the run used
    together, 0 to 1; None if it was not counted. `component` is the busiest component of the shop, and `core` how much
    of one processor it used.
    """

    machine: float | None
    component: str
    core: float
