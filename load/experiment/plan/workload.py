"""Workload files: which journeys customers send through which channels, how often, and how customers arrive.

The load generator reads the same files by the same rules (`load/internal/workload`). The files are checked here first,
so that a mistake in the user's file is reported before anything starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from experiment.arguments import WORKLOADS
from experiment.errors import UsageError
from mesh.description.switches import SWITCHES, Switches
from mesh.description.topology import Channel
from user_files.mistakes import validate
from user_files.words import describe, valid
from user_files.yaml_file import Place, YamlFile

DOCUMENT, NOTIFICATIONS = "document", "notifications"
_EVERYONE, _CUSTOMERS, _PARTNERS = tuple(Channel), (Channel.WEB, Channel.MOBILE), (Channel.PARTNER,)
SENDERS: Mapping[str, Sequence[Channel]] = {
    "browse": _EVERYONE,
    "product": _EVERYONE,
    "order_history": _CUSTOMERS,
    "order_status": _PARTNERS,
    "checkout": _EVERYONE,
    "login": _CUSTOMERS,
    "update_profile": _CUSTOMERS,
    "bulk_lines": _PARTNERS,
    DOCUMENT: _EVERYONE,
    NOTIFICATIONS: _CUSTOMERS,
    "product_card": _EVERYONE,
    "order_list": _CUSTOMERS,
    "product_feed": _EVERYONE,
}
"""The journeys, and the channels that send each of them, as in `load/internal/journey`."""
MAX_BYTES = 16 * 1024
MAX_CYCLE = 10_000
"""Maximum number of journeys in a cycle."""

Factor = Annotated[float, Field(strict=True, ge=0, le=100)]
Weight = Annotated[float, Field(strict=True, ge=0, le=1e6)]


class StrictModel(BaseModel):
    """A part of a user's file; an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Arrival(StrictModel):
    """How customers arrive.

    Attributes:
        process: Arrival process; with `staircase`, the rate changes in equally long steps; with `ramp`, linearly.
            `steps`, `start` and `to` are factors for the rate.
    """

    process: Literal["poisson", "constant", "staircase", "ramp"] = "poisson"
    steps: tuple[Factor, ...] = ()
    start: Annotated[Factor | None, Field(alias="from")] = None
    to: Factor | None = None

    def problems(self) -> Iterator[tuple[Place, str]]:
        """Yields the place of each value that does not fit the other values, relative to `arrival`, and the mistake."""
        ends = {"from": self.start, "to": self.to}
        if self.process != "staircase":
            if self.steps:
                yield ("steps",), f"steps are only for the process staircase; the process is {self.process}"
        elif not self.steps:
            yield ("process",), "the process staircase needs steps"
        elif not any(map(_thousandths, self.steps)):
            yield ("steps",), "all steps are 0"
        if self.process != "ramp":
            yield from (
                ((name,), f"{name} is only for the process ramp; the process is {self.process}")
                for name, end in ends.items()
                if end is not None
            )
        elif None in ends.values():
            yield ("process",), "the process ramp needs from and to"
        elif not any(_thousandths(end or 0.0) for end in ends.values()):
            yield ("from",), "from and to are both 0"


class _Share(StrictModel):
    journey: str
    channel: Channel
    weight: Weight


class _Workload(StrictModel):
    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    arrival: Arrival = Arrival()
    order: Literal["random", "cycle"] = "random"
    pool: Literal["trial", "parity"] = "trial"
    networks: Any = None
    mix: Annotated[tuple[_Share, ...], Field(min_length=1)]

    def problems(self) -> Iterator[tuple[Place, str]]:
        for field, text in (("name", self.name), ("about", self.about)):
            if not text.isprintable():
                yield (field,), f"{describe(text)} has a character that cannot be printed"
        yield from ((("arrival", *place), text) for place, text in self.arrival.problems())
        seen = set()
        for at, share in enumerate(self.mix):
            journey, channel = share.journey, share.channel
            senders = SENDERS.get(journey, ())
            if not senders:
                yield ("mix", at, "journey"), f"{describe(journey)} is unknown; {valid(journey, SENDERS)}"
            elif channel not in senders:
                yield ("mix", at, "channel"), f"{channel} does not send {journey}; valid: {', '.join(senders)}"
            if (journey, channel) in seen:
                yield ("mix", at), f"{journey} through {channel} appears twice"
            seen.add((journey, channel))
            if self.order == "cycle" and share.weight != int(share.weight):
                yield ("mix", at, "weight"), f"is {share.weight:g}; the order cycle needs a whole number"
        total = sum(_thousandths(share.weight) for share in self.mix)
        if not total:
            yield ("mix",), "all weights are 0"
        elif self.order == "cycle" and total > MAX_CYCLE * 1000:
            yield ("mix",), f"the weights add up to {total // 1000:,}; a cycle has at most {MAX_CYCLE:,} journeys"


def _thousandths(value: float) -> int:
    """Converts a factor or weight to thousandths, the unit that tapes use."""
    return math.floor(value * 1000 + 0.5)


def workload_file(given: str) -> Path:
    """Finds a workload by its name or path, and checks it; raises UsageError, which lists names or names the line."""
    named = {file.stem: file for file in sorted(WORKLOADS.glob("*.yaml"))}
    path = Path(given) if given.endswith((".yaml", ".yml")) else named.get(given)
    if path is None or not path.is_file():
        raise UsageError(f"workload={given} does not exist; {valid(given, named)}, or the path of a YAML file")
    mix_of(path)
    return path


def mix_of(workload: Path) -> dict[tuple[str, str], float]:
    """Returns the weight of each journey and channel; raises UsageError, which names the line, for a mistake."""
    file = YamlFile.read(workload, UsageError, MAX_BYTES)
    checked_workload = validate(file, _Workload)
    if problems := list(checked_workload.problems()):
        raise file.all_wrong(problems)
    return {(share.journey, share.channel.value): share.weight for share in checked_workload.mix}


def require_fitting(workload: Path, *of_arms: Switches) -> None:
    """Raises UsageError if switches ask for documents, or journeys for notifications, that the other side lacks."""
    journeys = {journey for journey, _ in mix_of(workload)}
    for switches in of_arms:
        if switches.payload != SWITCHES["payload"].default and DOCUMENT not in journeys:
            raise UsageError(
                f"payload={switches.payload} is for workloads with the journey {DOCUMENT}, which "
                f"workload={workload.stem} lacks; give workload={DOCUMENT}"
            )
        if switches.updates == "off" and NOTIFICATIONS in journeys:
            raise UsageError(
                f"workload={workload.stem} has the journey {NOTIFICATIONS}, which needs a shop that notifies customers "
                "of their orders; give updates=on, or a workload without this journey"
            )
