"""`make rtt`: topologies at several distances from their customers, and the model of distance held against that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from experiment.arguments import topologies_of
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MOST_ARMS, Arm, Plan, arm_of
from hops.kinds.rtt.arms import KIND, label_of
from mesh.description.network import read_rtt
from mesh.description.options import Given
from mesh.description.topology import Topology
from mesh.errors import SwitchError

DEFAULT_RTTS = "0,20,50,100"


@in_blocks.experiment(KIND)
def command(
    *,
    topologies: str,
    rtts: str,
    common: in_blocks.Common,
    switches: Given,
) -> Plan:
    """The command `rtt`; `commands.toml` has its help."""
    return common.plan(KIND, rtt_arms(topologies_of(topologies), rtts, switches))


def rtt_arms(topologies: Sequence[Topology], rtts: str, given: Mapping[str, str | None]) -> tuple[Arm, ...]:
    """An arm for each topology at each round-trip time, such as `hybrid-20ms`, the nearest customers first.

    At 0 ms customers have links of their own too, which take no time: arms of one topology differ by distance alone.

    Args:
        topologies: The topologies.
        rtts: Round-trip times, comma-separated and in any order: `0,20,50,100` in milliseconds, or `0ms,1s`.
        given: The other switches, as a user gives them.

    Raises:
        UsageError: A round-trip time is none or is given twice, there is only one, there are too many arms, or a
            topology cannot run with a switch.
    """
    times_ms = _read(rtts)
    count = len(topologies) * len(times_ms)
    if count > MOST_ARMS:
        raise UsageError(
            f"{len(topologies)} topologies at {len(times_ms)} round-trip times make {count} arms, and an experiment "
            f"has at most {MOST_ARMS}: give fewer topologies= or rtts="
        )
    return tuple(
        arm_of(label_of(topology.name, time_ms), topology, {**given, "rtt": f"{time_ms:.10g}ms"}, compared=topologies)
        for time_ms in times_ms
        for topology in topologies
    )


def _read(rtts: str) -> list[float]:
    """The round-trip times in ms, ascending."""
    times_ms = [_milliseconds(item.strip(), rtts) for item in rtts.split(",")]
    twice = [f"{time_ms:g} ms" for time_ms, count in Counter(times_ms).items() if count > 1]
    if twice:
        raise UsageError(f"rtts={rtts}: {', '.join(twice)} is given twice; give each round-trip time once")
    if len(times_ms) < 2:
        raise UsageError(f"rtts={rtts} is a single round-trip time; give at least two, such as {DEFAULT_RTTS}")
    return sorted(times_ms)


def _milliseconds(item: str, rtts: str) -> float:
    try:
        return read_rtt("rtts", f"{item}ms" if item[-1:].isdigit() else item)
    except SwitchError as error:
        raise UsageError(
            f"rtts={rtts}: {item or 'an empty item'} is not a round-trip time from 0ms to 2s; give them separated by "
            f"commas, such as {DEFAULT_RTTS} (ms) or 0ms,0.5ms,1s"
        ) from error
