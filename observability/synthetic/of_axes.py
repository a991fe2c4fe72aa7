"""The arms of synthetic experiments over rates and over distances, for `write_generated_run`."""

from __future__ import annotations

from collections.abc import Sequence

from hops.kinds.rates.document import AXIS as RATES
from hops.kinds.rtt.document import AXIS as DISTANCES
from synthetic.run import Arm


def arms_at_rates(topologies: Sequence[str], rates: Sequence[float]) -> list[Arm]:
    """Makes an arm for each topology at each rate."""
    return [Arm(RATES.label(name, rate), name, rate=rate) for rate in rates for name in topologies]


def arms_at_distances(topologies: Sequence[str], rtts_ms: Sequence[float]) -> list[Arm]:
    """Makes an arm for each topology at each round-trip time."""
    return [
        Arm(DISTANCES.label(name, rtt_ms), name, {"tls": "on", "rtt_ms": rtt_ms}, rtt_ms)
        for rtt_ms in rtts_ms
        for name in topologies
    ]
