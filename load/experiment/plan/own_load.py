"""The load of a trial, and loads of single arms, which replace the experiment's load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiment.plan.closed_loop import ClosedLoop


@dataclass(frozen=True, slots=True)
class Sending:
    """How the load of a trial is sent.

    Attributes:
        warmup_s: Seconds of warm-up load, which are not counted.
        duration_s: Seconds of counted load.
        rate: Mean number of journeys per second on the tape.
        closed: The closed loop that takes the journeys; None for an open loop, where they start at the tape's times.
        steps: An entry for each of the load's equally long parts: in a closed loop, the share of its users; in an open
            loop, the multiple of `rate`. Empty if the load is not divided.
        overload: Whether the load exceeds what the shop can take; if so, journeys may fail, and blocks may differ.
        warm_rate: Journeys per second of an open-loop warm-up; None for a warm-up like the load.
        connections: Total number of client connections; 0 for the number in the switches.
    """

    warmup_s: float
    duration_s: float
    rate: float
    closed: ClosedLoop | None = None
    steps: tuple[float, ...] = ()
    overload: bool = False
    warm_rate: float | None = None
    connections: int = 0


@dataclass(frozen=True, slots=True)
class OwnLoad:
    """An arm's own load, which differs from the load of the other arms.

    Attributes:
        mix: Journey, channel and weight of each share; empty for the mix of the experiment's workload.
        process: Arrival process, as in a workload file; used only with a mix.
        draw: Number of this tape among the tapes drawn from the seed; 0 for the experiment's own draw.
    """

    name: str
    mix: tuple[tuple[str, str, float], ...]
    sending: Sending
    process: str = "poisson"
    draw: int = 0

    @property
    def stairs(self) -> tuple[float, ...]:
        """The steps of the rate in an open loop; empty for a constant rate."""
        return self.sending.steps if self.sending.closed is None else ()

    def as_workload(self) -> dict[str, Any]:
        """Returns the content of the workload file for the load's tape, if the load has a mix."""
        mix = [{"journey": journey, "channel": channel, "weight": weight} for journey, channel, weight in self.mix]
        return {"name": self.name, "arrival": {"process": self.process}, "mix": mix}
