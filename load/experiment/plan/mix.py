"""The mix of a workload file: how often each journey comes through each channel. The generator checks the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from experiment.errors import UsageError
from mesh.description.switches import SWITCHES, Switches
from mesh.description.yaml_lines import YamlError, load_yaml, read_yaml

DOCUMENT, NOTIFICATIONS = "document", "notifications"


class _Share(BaseModel):
    journey: str
    channel: str
    weight: Annotated[FiniteFloat, Field(ge=0)]


class _Workload(BaseModel):
    mix: Annotated[list[_Share], Field(min_length=1)]


def mix_of(workload: Path) -> dict[tuple[str, str], float]:
    """Reads the weight of each journey and channel.

    Args:
        workload: File of the workload.

    Raises:
        UsageError: The file has no valid mix; names the file and what is wrong.
    """
    try:
        document = _Workload.model_validate(load_yaml(read_yaml(workload), str(workload)))
    except YamlError as error:
        raise UsageError(str(error)) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{workload}: {where or 'the file'}: {first['msg']}") from error
    except OSError as error:
        raise UsageError(f"{workload}: cannot be read: {error}") from error
    mix = {(share.journey, share.channel): share.weight for share in document.mix}
    if len(mix) < len(document.mix):
        raise UsageError(f"{workload}: mix: a journey is there twice for one channel")
    if not sum(mix.values()):
        raise UsageError(f"{workload}: mix: all weights are 0")
    return mix


def in_stairs(workload: Path, steps: Sequence[float]) -> dict[str, Any]:
    """A workload whose customers come at a rate of equally long steps, and which is the same otherwise.

    Args:
        workload: File of the workload.
        steps: The rate of each step, in units of that which its tape is made with.
    """
    document = load_yaml(read_yaml(workload), str(workload))
    return {**document, "arrival": {"process": "staircase", "steps": list(steps)}}


def require_fitting(workload: Path, *of_arms: Switches) -> None:
    """Checks that a workload's journeys and the switches that it runs with go together.

    Raises:
        UsageError: A payload is not the default and no journey reads it, or a journey reads notifications and customers
            are told nothing.
    """
    journeys = {journey for journey, _ in mix_of(workload)}
    for switches in of_arms:
        if switches.payload != SWITCHES["payload"].default and DOCUMENT not in journeys:
            raise UsageError(
                f"payload={switches.payload} is for workloads with the journey {DOCUMENT}, which "
                f"workload={workload.stem} has not; give workload={DOCUMENT}"
            )
        if switches.updates == "off" and NOTIFICATIONS in journeys:
            raise UsageError(
                f"workload={workload.stem} has the journey {NOTIFICATIONS}, which needs a shop that tells customers of "
                "their orders; give updates=on"
            )
