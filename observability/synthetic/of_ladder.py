"""The effect of the arms of a synthetic ladder on a journey's parts, roughly as measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from hops.budget.parts import EDGE, GENERATOR
from hops.kinds.ladder import arms as ladder
from synthetic.run import Arm
from synthetic.shop import by_way_of_sidecars

PROXY_MS = {ladder.SIDECARS: 0.12, ladder.MTLS: 0.16, ladder.ISTIO: 0.2, ladder.CLUSTER_ISTIO: 0.2}
WIRE_MS = 0.06
"""Mean time in one proxy of a pair, ms, and on each of the two wires that it adds."""
POD_WIRE_MS = 0.05
#: The topology of every ladder.
_CLIMBED = "hybrid"


def synthetic_arms(names: Sequence[str] = ladder.ARMS) -> list[Arm]:
    """Makes arms of a ladder for `write_generated_run`."""
    return [
        Arm(
            name,
            _CLIMBED,
            {**ladder.SWITCHES.get(name, {}), **({"trace": 0.0} if name == ladder.UNTRACED else {})},
            parts=partial(arm_parts, name),
            call_ms=partial(call_ms, name),
            traced=name != ladder.UNTRACED,
        )
        for name in names
    ]


def arm_parts(arm: str, parts: Mapping[str, float]) -> dict[str, float]:
    """Computes the mean of each part of a journey's budget in an arm, ms, from the parts in the arm `edge`."""
    if arm == ladder.NO_EDGE:
        return _without_edge(parts)
    if arm == ladder.MEMORY:
        return {part: ms for part, ms in parts.items() if not part.startswith(("db:", "pool:"))}
    if arm in ladder.IN_A_CLUSTER:
        parts = {part: ms + POD_WIRE_MS * part.startswith("wire:") for part, ms in parts.items()}
    if arm in PROXY_MS:
        return by_way_of_sidecars(parts, proxy_ms=PROXY_MS[arm], wire_ms=WIRE_MS)
    return dict(parts)


def call_ms(arm: str, wire_ms: float) -> float:
    """Computes the mean time of a call between two components in an arm, from the wire's time without sidecars."""
    wire_ms += POD_WIRE_MS * (arm in ladder.IN_A_CLUSTER)
    return wire_ms + 2 * (PROXY_MS[arm] + WIRE_MS) if arm in PROXY_MS else wire_ms


def _without_edge(parts: Mapping[str, float]) -> dict[str, float]:
    to_edge, from_edge = f"wire:{GENERATOR}→{EDGE}", f"wire:{EDGE}→"
    return {
        (f"wire:{GENERATOR}→{part.removeprefix(from_edge)}" if part.startswith(from_edge) else part): ms
        for part, ms in parts.items()
        if part not in (to_edge, f"proxy:{EDGE}")
    }
