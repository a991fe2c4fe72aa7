"""The load of a trial, and loads of single arms, which replace the experiment's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiment.plan.closed_loop import ClosedLoop


@dataclass(frozen=True, slots=True)
class Sending:
    """How the load of a trial is sent.

    Attributes:
        warmup_s: Seconds of load before the counted part.
        duration_s: Seconds of counted load.
        rate: Mean number of journeys per second on the tape.
        closed: The closed loop that takes the journeys; None if they start at the tape's times.
        steps: Equally long parts of the load: the share of the loop's users in each, or in an open loop its rate as a
            multiple of `rate`. Empty for a load of one part.
        overload: Whether the load exceeds what the shop can take: journeys may fail, and blocks may differ.
        warm_rate: Journeys per second of an open-loop warm-up; None for a warm-up like the load.
        connections: Connections of all clients together; 0 for the switches' number.
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
    """The load of an arm that differs from the other arms'.

    Attributes:
        name: Name of its tape.
        mix: Journey, channel and weight of each share; empty for the mix of the experiment's workload.
        sending: How it is sent.
        process: Arrival process, as in a workload file; used only with a mix.
        draw: Number of the tape among the draws from the seed; 0 for the experiment's own.
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
        """Returns the workload file of its tape, if it has a mix."""
        mix = [{"journey": journey, "channel": channel, "weight": weight} for journey, channel, weight in self.mix]
        return {"name": self.name, "arrival": {"process": self.process}, "mix": mix}
