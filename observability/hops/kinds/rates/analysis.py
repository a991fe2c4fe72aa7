"""The effect of load on latency and processors, as measured.

**Where does the ranking flip?** The p50 and the mean of each topology are interpolated, block by block, between the
rates at which all topologies ran. They are compared as curves over the rate (`hops.analysis.break_even`). The tests
are corrected over all pairs and journeys, and the rate at which two curves cross has an interval.

**What is full first?** Each process's CPU use grows almost linearly with the journeys answered in a second. The process
is full at the rate where the line reaches its limit: one core for each event loop, the machine's cores for all
processes together. Components in Go have no event loop, so only the machine limits them. The line is fitted in each
block, and the interval is over blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np

from hops.analysis.break_even import between, break_evens, measured_curve
from hops.analysis.cost import CORE_HOURS_A_MILLION, TOTAL, component_group
from hops.analysis.latencies import Latencies, intersect_blocks
from hops.analysis.summary import Measured
from hops.kinds.rates.document import AXIS, Crossing, Filling, RateArm, Rates
from hops.run.axis import Arm, by_topology, shared_places
from hops.run.documents.estimate import Estimate
from hops.run.documents.topology import TopologySummary
from hops.run.files import RunFiles
from hops.run.switches import programs_of, switches_of
from hops.statistics.curve_crossings import gap_between
from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import NO_INTERVAL, Section, refusal
from hops.units import ALL

METRICS = ("p50", "mean")
"""Figures compared over the rate: a p99 needs more journeys than a short trial has."""
MACHINE = "machine"
_LOOPS = ("services", "gateways")
"""Groups of components whose processes have one event loop each, if their implementation is in `_ONE_LOOP`."""
_ONE_LOOP = ("python", "hive")
MIN_RATIO = 1.2
"""Minimum ratio of the highest to the lowest rate of a line; closer rates do not show how the use of CPU grows."""
_PIECES = 200
"""Number of intervals into which the range of rates is divided."""


def rates_figures(measured: Measured) -> Mapping[str, Rates]:
    """Computes the figures that only an experiment over rates has."""
    arms = AXIS.arms(measured.run.manifest)
    equal, used = shared_places(arms), _cores_used(measured.run)
    return {
        "rates": Rates(
            arms=[_arm(arm, measured.topologies[arm.label], used[arm.label]) for arm in arms],
            equal=equal,
            crossings=crossings(by_topology(arms), equal, measured.latencies, measured.load),
            fillings=fillings(measured.run, by_topology(arms), used),
        )
    }


def crossings(
    arms: Mapping[str, Sequence[Arm]],
    equal: Sequence[float],
    latencies: Mapping[str, Latencies],
    load: Mapping[str, int],
) -> list[Crossing]:
    """Finds the rate at which the ranking of each pair flips, for all journeys and each; `equal` rates ascend."""
    if len(equal) < 2:
        return []
    rates = np.array(equal)
    grid = np.union1d(np.linspace(rates[0], rates[-1], _PIECES + 1), rates)
    of_rates = {
        topology: [latencies[arm.label] for arm in own if arm.at in equal and arm.percent is None]
        for topology, own in arms.items()
    }
    blocks = intersect_blocks(chain.from_iterable(of_rates.values()))
    result = []
    for metric in METRICS:
        curves = {}
        for topology, own in of_rates.items():
            for journey in (ALL, *sorted(load)):
                curve = measured_curve(own, journey, blocks, metric)
                if curve is not None:
                    curves[journey, topology] = between(curve, rates, grid)
        gaps = {
            (journey, left, right): gap_between(curves[journey, left], curves[journey, right])
            for journey in (ALL, *sorted(load))
            for left, right in combinations(arms, 2)
            if (journey, left) in curves and (journey, right) in curves
        }
        # Unlike the effect of round trips, that of the rate is not known in advance: no pair is expected to cross.
        alike = {journey: dict.fromkeys(arms, 0.0) for journey, _, _ in gaps}
        result += [
            Crossing(
                journey=journey,
                metric=metric,
                left=row["left"],
                right=row["right"],
                verdict=row["verdict"],
                faster=row["sooner"],
                at=row["at_ms"],
                ci95=row["ci95_ms"],
                reason=row["reason"],
            )
            for journey, rows in break_evens(gaps, alike, grid).items()
            for row in rows
        ]
    return result


_Used = Mapping[int, tuple[float, Mapping[str, float]]]
"""By block: journeys answered in a second, and the cores that each component and the machine used."""


def _cores_used(run: RunFiles) -> dict[str, dict[int, tuple[float, dict[str, float]]]]:
    used: dict[str, dict[int, tuple[float, dict[str, float]]]] = {label: {} for label in run.topologies}
    for trial in run.used:
        wall_s = float(trial["generator"]["wall_s"])
        cores = {name: seconds / wall_s for name, seconds in trial["cpu_s"].items()}
        rate = float(trial["generator"]["journeys"]) / wall_s
        used[trial["topology"]][trial["block"]] = rate, {**cores, MACHINE: sum(cores.values())}
    return used


def _arm(arm: Arm, figures: TopologySummary, used: _Used) -> RateArm:
    total = figures["cost"].get(TOTAL)
    ms = 1e3 / CORE_HOURS_A_MILLION
    return RateArm(
        label=arm.label,
        topology=arm.topology,
        rate=arm.at,
        percent=arm.percent,
        cpu_ms=None
        if total is None
        else Estimate(value=total["value"] * ms, ci95=[None if end is None else end * ms for end in total["ci95"]]),
        cores=float(np.mean([cores[MACHINE] for _, cores in used.values()])),
    )


def fillings(run: RunFiles, arms: Mapping[str, Sequence[Arm]], used: Mapping[str, _Used]) -> list[Filling]:
    """Finds what becomes full in each topology: components or machine, sorted by rate; arms are by rising rate."""
    result: list[Filling] = []
    for topology, own in arms.items():
        blocks = sorted(set.intersection(*(set(used[arm.label]) for arm in own)))
        names = {name for arm in own for block in blocks for name in used[arm.label][block][1]}
        limits = _limits_of_loops(run.manifest, own[0].label, names)
        if "cluster" not in run.manifest:
            limits[MACHINE] = float(run.manifest["machine"]["cores"])
        for name, limit in limits.items():
            rates = np.array([[used[arm.label][block][0] for arm in own] for block in blocks])
            cores = np.array([[used[arm.label][block][1].get(name, 0.0) for arm in own] for block in blocks])
            full = _full_at(rates, cores, limit)
            if full is not None:
                last = float(cores[:, -1].mean())
                result.append(Filling(topology=topology, component=name, limit=limit, cores=last, at=full))
    order = list(arms)
    return sorted(result, key=lambda row: (order.index(row["topology"]), row["at"]["value"]))


def _limits_of_loops(manifest: Mapping[str, Any], label: str, names: Iterable[str]) -> dict[str, float]:
    """Computes how many cores the event loops of each component can use, one for each replica."""
    switches = switches_of(manifest, label)
    replicas, programs = switches.get("replicas", {}), programs_of(manifest["topologies"][label], switches)
    return {
        name: float(replicas.get(name, 1))
        for name in names
        if component_group(name) in _LOOPS and programs.get(name, "python") in _ONE_LOOP
    }


def _full_at(rates: Floats, cores: Floats, limit: float) -> Estimate | None:
    """Finds the rate at which lines fitted to the use of cores (block x arm) reach the limit.

    Returns:
        None if no line grows, or the rates are too close for a line.
    """
    if (rates.max(axis=1) < MIN_RATIO * rates.min(axis=1)).any():
        return None
    value = _reaches(rates.ravel(), cores.ravel(), limit)
    by_block = [_reaches(*block, limit) for block in zip(rates, cores, strict=True)]
    if value is None:
        return None
    known = [one for one in by_block if one is not None]
    reason = refusal(len(by_block), rates.size * len(by_block), None)
    if reason is not None or len(known) < len(by_block):
        return Estimate(value=value, ci95=list(NO_INTERVAL))
    return Estimate(value=value, ci95=list(Section(value, np.array(known)).interval))


def _reaches(rates: Floats, cores: Floats, limit: float) -> float | None:
    growth, start = np.polyfit(rates, cores, 1)
    at = (limit - start) / growth if growth > 0 else -1.0
    return float(at) if at > 0 else None
