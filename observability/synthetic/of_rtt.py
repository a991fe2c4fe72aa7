"""The arms of a synthetic experiment over distances."""

from __future__ import annotations

from collections.abc import Sequence

from hops.kinds.rtt.document import AXIS
from synthetic.run import Arm


def synthetic_arms(topologies: Sequence[str], rtts_ms: Sequence[float]) -> list[Arm]:
    """Makes arms for `write_generated_run`: each topology at each round-trip time."""
    return [
        Arm(AXIS.label(name, rtt_ms), name, {"tls": "on", "rtt_ms": rtt_ms}, rtt_ms)
        for rtt_ms in rtts_ms
        for name in topologies
    ]
