"""`make rtt`: topologies at several distances from their customers, compared with the distance model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan, arm_of
from experiment.plan.axis import arms_along
from hops.kinds.rtt.document import AXIS, KIND
from mesh.description.network import read_rtt
from mesh.description.options import Given
from mesh.description.topology import Topology
from mesh.errors import SwitchError

DEFAULT_RTTS = "0,20,50,100"


@in_blocks.experiment(KIND)
def command(*, topologies: str, rtts: str, common: in_blocks.Common, switches: Given) -> Plan:
    return common.plan(KIND, rtt_arms(common.read_measured(topologies), rtts, switches))


def rtt_arms(topologies: Sequence[Topology], rtts: str, given: Mapping[str, str | None]) -> tuple[Arm, ...]:
    """Makes an arm for each topology at each round-trip time, such as `hybrid-20ms`, the nearest customers first.

    Customers have emulated links at 0 ms too, so that arms of one topology differ only in distance.

    Args:
        rtts: Round-trip times, comma-separated and in any order: `0,20,50,100` in milliseconds, or `0ms,1s`.

    Raises:
        UsageError: A round-trip time is invalid or is given twice, there is only one time, there are too many arms,
            or a topology cannot run with a switch.
    """
    places = arms_along(
        "rtts",
        rtts,
        "round-trip time",
        DEFAULT_RTTS,
        topologies,
        lambda item: _milliseconds(item, rtts),
        lambda time_ms: (time_ms,),
    )
    return tuple(
        arm_of(AXIS.label(topology.name, time_ms), topology, {**given, "rtt": f"{time_ms:.10g}ms"}, compared=topologies)
        for topology, time_ms in places
    )


def _milliseconds(item: str, rtts: str) -> float:
    try:
        return read_rtt("rtts", f"{item}ms" if item[-1:].isdigit() else item)
    except SwitchError as error:
        raise UsageError(
            f"rtts={rtts}: {item or 'an empty item'} is not a round-trip time from 0ms to 2s; separate times by "
            f"commas, such as {DEFAULT_RTTS} (ms) or 0ms,0.5ms,1s"
        ) from error
