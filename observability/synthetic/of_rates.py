"""The arms of a synthetic experiment over rates."""

from __future__ import annotations

from collections.abc import Sequence

from hops.kinds.rates.document import AXIS
from synthetic.run import Arm


def synthetic_arms(topologies: Sequence[str], rates: Sequence[float]) -> list[Arm]:
    """Makes arms for `write_generated_run`: each topology at each rate."""
    return [Arm(AXIS.label(name, rate), name, rate=rate) for rate in rates for name in topologies]
