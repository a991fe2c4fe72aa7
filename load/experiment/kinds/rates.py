"""`make rates`: topologies at several rates, and the rate at which their ranking flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiment.arguments import float_or_nan
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan, arm_of
from experiment.plan.axis import arms_along
from experiment.plan.networks import channel_networks
from experiment.results.folder import RESULTS
from hops.errors import HopsError
from hops.kinds.capacity.document import capacity_of
from hops.kinds.rates.document import AXIS, KIND
from hops.run.axis import SHARE
from hops.run.files import MANIFEST, SUMMARY, read_document
from mesh.description.options import Given
from mesh.description.topology import Topology

DEFAULT_RATES = "10,20,30,40,60"
MAX_RATE = 1000.0
"""On two cores, no topology can answer this many journeys per second of the whole mix."""
LOWEST, MAX_PERCENT = 0.1, 100.0


@in_blocks.experiment(KIND)
def command(*, topologies: str, rates: str, common: in_blocks.Common, switches: Given) -> Plan:
    places = common.own.target.targets if common.own else {}
    endpoints = {name: place.endpoints for name, place in places.items()}
    measured = common.read_measured(topologies)
    return common.plan(KIND, rate_arms(measured, rates, switches, common.file, common.folder, endpoints))


def rate_arms(
    topologies: Sequence[Topology],
    rates: str,
    given: Mapping[str, str | None],
    workload: Path,
    results: Path = RESULTS,
    endpoints: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Arm, ...]:
    """Makes an arm for each topology at each rate, such as `hybrid-20` or `hybrid-60pct`, the lowest rates first.

    Args:
        rates: Comma-separated, in any order: journeys per second, or percentages of each topology's sustained rate.
        results: The folder of all results; the newest sweep in it with all topologies and the same journeys determines
            which rate is 100 %.
        endpoints: The endpoints of each target other than the shop; None for the shop.

    Raises:
        UsageError: A rate is invalid, is given twice, or is above what any topology sustains. There is only one rate,
            or there are too many arms. A rate is a percentage, but no sweep measured all topologies with these
            journeys. A topology cannot run with a switch.
    """
    places = arms_along(
        "rates", rates, "rate", DEFAULT_RATES, topologies, lambda item: _amount(item, rates), lambda place: place[::-1]
    )
    amounts = dict.fromkeys(amount for _, amount in places)
    names = [topology.name for topology in topologies]
    held, sweep = _read_capacity(names, workload.name, endpoints or {}, results)
    absolute = [amount for amount, percent in amounts if not percent]
    if held and absolute and max(absolute) > max(held.values()):
        known = ", ".join(f"{name} {held[name]:g}" for name in names)
        raise UsageError(
            f"rates={rates}: {max(absolute):g} journeys a second is more than any of these topologies sustained in "
            f"{sweep} ({known}); give lower rates, or percentages of what each sustains, such as 80%"
        )
    if not held and len(absolute) < len(amounts):
        raise UsageError(
            f"rates={rates}: percentages refer to the rate that each topology sustains, but no `make sweep` with "
            f"{workload.name} measured it for {', '.join(names)}; run one, or give journeys per second"
        )
    networks = channel_networks(workload)

    def arm(topology: Topology, amount: float, *, percent: bool) -> Arm:
        label = AXIS.label(topology.name, amount, SHARE if percent else None)
        rate = float(f"{held[topology.name] * amount / 100:.3g}") if percent else amount
        return arm_of(label, topology, given, networks, compared=topologies, rate=rate)

    return tuple(arm(topology, amount, percent=percent) for topology, (amount, percent) in places)


def _amount(item: str, rates: str) -> tuple[float, bool]:
    percent = item.endswith("%")
    most = MAX_PERCENT if percent else MAX_RATE
    amount = float_or_nan(item.removesuffix("%"))
    if not LOWEST <= amount <= most:
        raise UsageError(
            f"rates={rates}: {item or 'an empty item'} is not a rate; give journeys per second, from {LOWEST:g} "
            f"to {MAX_RATE:g}, or percentages up to {MAX_PERCENT:g}%, separated by commas, such as {DEFAULT_RATES}"
        )
    return amount, percent


def _read_capacity(
    topologies: Sequence[str], workload: str, endpoints: Mapping[str, Mapping[str, str]], results: Path
) -> tuple[dict[str, float], str]:
    """Returns the rate that each topology sustained in the newest sweep that measured all, and the sweep's name.

    The sweep must have sent the journeys of the same file to the same endpoints. If there is none, both are empty.
    """
    for path in sorted(results.glob(f"2*-sweep*/{SUMMARY}"), reverse=True):
        try:
            manifest = read_document(path.with_name(MANIFEST))
            targets = manifest.get("targets", {})
            there = {name: targets[name]["endpoints"] for name in topologies if name in targets}
            if manifest["workload"] != workload or there != endpoints:
                continue
            rates = capacity_of(read_document(path))["results"]
        except (HopsError, KeyError):
            continue  # written by another version
        held = {name: rates[name]["rate"] for name in topologies if name in rates}
        known = {name: rate for name, rate in held.items() if rate is not None}
        if len(known) == len(topologies):
            return known, path.parent.name
    return {}, ""
