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
        steps: Share of the loop's users who are there in each of so many equal parts of the load; empty for all.
        overload: Whether it is more than the shop can take: journeys may fail, and blocks may differ.
    """

    warmup_s: float
    duration_s: float
    rate: float
    closed: ClosedLoop | None = None
    steps: tuple[float, ...] = ()
    overload: bool = False


@dataclass(frozen=True, slots=True)
class OwnLoad:
    """The load of an arm that is not sent what the other arms are.

    Attributes:
        name: Name of its tape.
        mix: Journey, channel and weight of each share.
        sending: How it is sent.
        process: How customers arrive, as in a workload file.
    """

    name: str
    mix: tuple[tuple[str, str, float], ...]
    sending: Sending
    process: str = "poisson"

    def as_workload(self) -> dict[str, Any]:
        """The workload file of its tape."""
        mix = [{"journey": journey, "channel": channel, "weight": weight} for journey, channel, weight in self.mix]
        return {"name": self.name, "arrival": {"process": self.process}, "mix": mix}
