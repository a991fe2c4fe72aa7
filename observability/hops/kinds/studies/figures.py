"""The figures that claims are about, for single arms and block by block."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import polars as pl

from hops.analysis.cost import component_group
from hops.analysis.latencies import latencies_of, pair_sections
from hops.analysis.summary import Measured
from hops.budget.parts import WORK
from hops.kinds.studies.document import LATENCY, Metric
from hops.kinds.studies.verdict import Effect, Saturation
from hops.run.documents.trial import TrialRecord
from hops.run.loads import length_s
from hops.statistics.contrast import NO_SCATTER, contrast, spread_if_paired
from hops.statistics.over_blocks import NO_INTERVAL, Section, refusal, spread_of
from hops.units import ALL, NS_PER_S

_OF_THE_PROTOCOL = ("services", "gateways")
"""Groups of components whose CPU and memory count: they speak the protocol, unlike edge and database."""
MAX_FAILED = 1.0
"""In percent of an arm's journeys."""
_USED: dict[Metric, Literal["cpu_s", "rss_mb"]] = {"cpu_percent": "cpu_s", "memory_mb": "rss_mb"}


class Figures:
    """Figures of a run's arms; `left_out` are blocks that do not count."""

    def __init__(self, measured: Measured, left_out: Collection[int] = ()) -> None:
        self._measured = measured
        self._left_out = left_out
        self._trials = {(row["topology"], row["block"]): row for row in measured.run.used}

    def blocks(self, *arms: str) -> list[int]:
        """Lists the blocks that all of these arms have and that count."""
        return sorted(set.intersection(*(self._measured.blocks[arm] for arm in arms)).difference(self._left_out))

    def effect(self, metric: Metric, left: str, right: str) -> tuple[Effect, list[float | None]]:
        """Computes the effect of one arm relative to another, and the figures of both."""
        blocks = self.blocks(left, right)
        if metric == "success_rate":
            return self._success(left, right, blocks)
        sides = [self.section(metric, arm, blocks, compared=(left, right)) for arm in (left, right)]
        return _ratio(sides[0], sides[1], len(blocks)), [side.value for side in sides]

    def effect_with_failures(self, metric: Metric, left: str, right: str) -> Effect | None:
        """Computes the effect on a latency if failed journeys count with the time until they failed.

        Returns:
            The effect; None if at most `MAX_FAILED` of each side's journeys failed, or the metric is no latency.
        """
        arms, blocks = (left, right), self.blocks(left, right)
        if not self.count_failed(metric, arms):
            return None
        every = [latencies_of(self._measured.journeys[arm].with_columns(outcome=pl.lit("ok"))) for arm in arms]
        mine, other = pair_sections(every[0], every[1], ALL, blocks, blocks)
        name = metric.removeprefix(LATENCY)
        return _ratio(mine[name], other[name], len(blocks))

    def count_failed(self, metric: Metric, arms: Sequence[str]) -> list[float]:
        """Computes the share of the journeys that failed in each arm, in percent.

        Returns:
            The shares; empty if all are at most `MAX_FAILED`, or the metric is no latency.
        """
        shares = [sum(self.failures(arm).values()) for arm in arms]
        return shares if metric.startswith(LATENCY) and max(shares) > MAX_FAILED else []

    def payload_effect(self, left: Sequence[str], right: Sequence[str]) -> tuple[Effect, list[float | None]]:
        """Computes by which factor an advantage at p50, right / left, grows from the first load to the last."""
        arms = (left[0], right[0], left[-1], right[-1])
        blocks = self.blocks(*arms)
        before, after = (
            [self.section("latency_p50", arm, blocks, compared=pair) for arm in pair] for pair in (arms[:2], arms[2:])
        )
        values = [None if mine.value is None else (other.value or 0.0) / mine.value for mine, other in (before, after)]
        reason = next((side.reason for side in (*before, *after) if side.reason), None)
        if reason or values[0] is None or values[1] is None:
            return Effect(None, NO_INTERVAL, None, len(blocks), reason=reason), values[::-1]
        value = values[1] / values[0]
        deviations = after[1].deviations - after[0].deviations - before[1].deviations + before[0].deviations
        spread = spread_of(deviations)
        reach = float(np.exp(spread.half_width))
        p = spread.p_value(float(np.log(value)))
        interval = (value / reach, value * reach)
        return Effect(value, interval, p, len(blocks), freedom=spread.widest.freedom), values[::-1]

    def saturation(self, arms: Sequence[str], gain: float) -> Saturation:
        """Tests above which of rising numbers of users throughput still grows by more than `gain` (0.05 is 5 %)."""
        blocks = self.blocks(*arms)
        steps = [self.section("throughput", arm, blocks, compared=arms) for arm in arms]
        if reason := next((step.reason for step in steps if step.reason), None):
            return Saturation((), (), reason)
        grows, full = [], []
        for index, here in enumerate(steps[:-1]):
            p_more = [_p_above(later, here, 1 + gain) for later in steps[index + 1 :]]
            grows.append(min(1.0, len(p_more) * min(p_more)))  # one later step is enough (Bonferroni)
            full.append(max(1 - p for p in p_more))  # no later step may have the gain
        return Saturation(grows, full)

    def cores(self, arm: str) -> float:
        """Computes the CPU in use during the load, in percent of a core, of the components that speak the protocol."""
        trials = [self._trials[arm, block] for block in self.blocks(arm)]
        seconds = sum(float(trial["generator"]["wall_s"]) for trial in trials)
        return 100 * sum(sum(self._of_protocol(arm, trial["block"], "cpu_s").values()) for trial in trials) / seconds

    def by_component(self, metric: Metric, arm: str) -> dict[str, float]:
        """Lists CPU per journey in ms, or peak memory in MB, of each component that counts."""
        blocks, what = self.blocks(arm), _USED[metric]
        per = 1e3 / self._measured.journeys[arm].height if what == "cpu_s" else 1 / len(blocks)
        trials = [self._of_protocol(arm, block, what) for block in blocks]
        names = dict.fromkeys(name for one in trials for name in one)
        return {name: per * sum(one.get(name, 0.0) for one in trials) for name in names}

    def bytes_by_part(self, left: str, right: str) -> list[tuple[float, float]]:
        """Computes the bytes of a journey's answers on each side: as they came, and before compression."""
        blocks, sides = self.blocks(left, right), (left, right)
        return [
            (
                self._per_journey("bytes_in", arm, blocks, sides).value or 0.0,
                self._per_journey("bytes_in_raw", arm, blocks, sides).value or 0.0,
            )
            for arm in sides
        ]

    def failures(self, arm: str) -> dict[str, float]:
        """Computes the share of an arm's journeys with each outcome other than ok, in percent."""
        counts = self._measured.journeys[arm].filter(pl.col("outcome") != "ok").group_by("outcome").len().rows()
        return {name: 100 * count / self._measured.journeys[arm].height for name, count in sorted(counts)}

    def section(self, metric: Metric, arm: str, blocks: Sequence[int], compared: Sequence[str]) -> Section:
        """Computes a figure of an arm, overall and by block; `compared` are all compared arms, including this arm."""
        latencies = self._measured.latencies
        if metric.startswith(LATENCY):
            name = metric.removeprefix(LATENCY)
            fewest = min(latencies[one].pool(ALL, blocks).size / max(1, len(blocks)) for one in compared)
            return latencies[arm].sections(ALL, blocks, fewest)[name]
        if metric == "payload_bytes":
            return self._per_journey("bytes_in", arm, blocks, compared)
        if metric == "throughput":
            return _by_block([self._count_answered(arm, block) for block in blocks])
        if metric == "memory_mb":
            return _by_block([sum(self._of_protocol(arm, block, "rss_mb").values()) for block in blocks])
        assert metric == "cpu_percent"
        counts = dict(self._measured.journeys[arm].group_by("block").len().iter_rows())
        cpu_s = {block: sum(self._of_protocol(arm, block, "cpu_s").values()) for block in blocks}
        return _by_block([1e3 * cpu_s[block] / counts[block] for block in blocks])

    def _success(self, left: str, right: str, blocks: Sequence[int]) -> tuple[Effect, list[float | None]]:
        sides, ok = [], (pl.col("outcome") == "ok").mean()
        for arm in (left, right):
            by_block = dict(self._measured.journeys[arm].group_by("block").agg(ok).iter_rows())
            sides.append(100 * np.array([by_block.get(block, 0.0) for block in blocks]))
        differences = sides[0] - sides[1]
        value, means = float(differences.mean()), [float(side.mean()) for side in sides]
        reason = refusal(len(blocks), self._measured.journeys[left].height, None)
        if reason:
            return Effect(value, NO_INTERVAL, None, len(blocks), difference=True, reason=reason), [*means]
        spread = spread_of(differences - value)
        return Effect(value, spread.around(value), spread.p_value(value), len(blocks), difference=True), [*means]

    def _count_answered(self, arm: str, block: int) -> float:
        """Computes how many journeys a second ended ok during the load."""
        rows = self._measured.journeys[arm].filter(pl.col("block") == block)
        seconds = length_s(self._measured.run.manifest, arm)
        took_s = (rows["ended_ns"] - rows["intended_ns"].min()) / NS_PER_S
        return float(((rows["outcome"] == "ok") & (took_s <= seconds)).sum()) / seconds

    def _per_journey(self, column: str, arm: str, blocks: Sequence[int], compared: Sequence[str]) -> Section:
        """Computes a column's mean over journeys of the tape that ended ok in all compared arms, in the same block."""
        keys = ["block", "seq"]
        rows = self._ok(arm)
        for other in compared:
            rows = rows.join(self._ok(other).select(keys), on=keys, how="semi")
        means = dict(rows.group_by("block").agg(pl.col(column).mean()).iter_rows())
        return _by_block([means.get(block, 0.0) for block in blocks])

    def _ok(self, arm: str) -> pl.DataFrame:
        return self._measured.journeys[arm].filter(pl.col("outcome") == "ok")

    def _of_protocol(self, arm: str, block: int, what: Literal["cpu_s", "rss_mb"]) -> dict[str, float]:
        """Lists what components that speak the protocol used; memory counts only if they answer the journeys."""
        trial: TrialRecord = self._trials[arm, block]
        amounts = {name: used for name, used in trial[what].items() if component_group(name) in _OF_THE_PROTOCOL}
        if what == "cpu_s":
            return amounts
        parts = self._measured.topologies[arm]["journeys"][ALL]["budget_ms"]["mean"]
        return {name: used for name, used in amounts.items() if f"{WORK}{name}" in parts}


def _by_block(values: Sequence[float]) -> Section:
    by_block = np.array(values)
    reason = refusal(len(values), len(values) * 5, None)
    if reason is None and not (by_block > 0).all():
        reason = "In a block nothing was counted"
    return Section(float(by_block.mean()) if len(values) else None, np.empty(0) if reason else by_block, reason)


def _p_above(left: Section, right: Section, ratio: float) -> float:
    """Computes the probability (one-sided) of the measured ratio if the true ratio is at most `ratio`."""
    assert left.value
    assert right.value
    above = float(np.log(left.value / right.value / ratio))
    p = spread_if_paired(left.deviations, right.deviations).p_value(above) / 2
    return p if above > 0 else 1 - p


def _ratio(left: Section, right: Section, blocks: int) -> Effect:
    result = contrast(left, right)
    if result.reason == NO_SCATTER:  # a figure that is the same in each block, such as bytes
        assert result.ratio is not None
        return Effect(result.ratio, (result.ratio, result.ratio), 0.0, blocks)
    return Effect(result.ratio, result.ratio_interval, result.p, blocks, reason=result.reason, freedom=result.freedom)
