"""What is sent in a trial, and loads that single arms have to themselves, in place of the experiment's."""

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
        rate: Journeys a second of the tape, in the mean.
        closed: The closed loop that takes the journeys; None if they go at the tape's times.
        steps: Share of the loop's users in each of so many equal parts of the load, or in an open loop the rate, in
            units of `rate`. Empty for a load of one part.
        overload: Whether it is more than the shop can take: journeys may fail, and blocks may differ.
        warm_rate: Journeys a second of the warm-up, which then is an open loop; None to warm up as the load is.
        connections: Connections of all clients together; 0 for as many as the switches say.
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
    """The load of an arm that is not sent what the other arms are.

    Attributes:
        name: Name of its tape.
        mix: Journey, channel and weight of each share; empty for those of the experiment's workload.
        sending: How it is sent.
        process: How customers arrive, as in a workload file; counts with a mix only.
        draw: Which draw of journeys from the seed its tape is; 0 for the experiment's own.
    """

    name: str
    mix: tuple[tuple[str, str, float], ...]
    sending: Sending
    process: str = "poisson"
    draw: int = 0

    @property
    def stairs(self) -> tuple[float, ...]:
        """The steps of its rate in an open loop; empty for one rate."""
        return self.sending.steps if self.sending.closed is None else ()

    def as_workload(self) -> dict[str, Any]:
        """The workload file of its tape, if it has a mix."""
        mix = [{"journey": journey, "channel": channel, "weight": weight} for journey, channel, weight in self.mix]
        return {"name": self.name, "arrival": {"process": self.process}, "mix": mix}
