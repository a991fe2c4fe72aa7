"""What tracing costs a request, by component, from rounds that sent the same requests traced and untraced.

What counts is the median over the rounds of the differences (or ratios) within a round: what disturbs a whole round is
on both of its sides. The intervals make no assumption about how rounds scatter
(`hops.statistics.sample.percentile_interval`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypedDict

from hops.statistics.sample import Interval, percentile_interval

LEAST_RATIO = 0.85
"""Share of the throughput without traces that must be left when every request is traced."""
ALL = "all"
_US_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds of a component's processes.

    Attributes:
        main_s: CPU seconds of their main threads.
        all_s: CPU seconds of all threads.
        export_s: Share of `all_s` for encoding and sending spans, by their own account; 0 without one.
    """

    main_s: float
    all_s: float
    export_s: float = 0.0

    def since(self, earlier: Cpu) -> Cpu:
        """What was used after an earlier reading."""
        export_s = self.export_s - earlier.export_s
        return Cpu(self.main_s - earlier.main_s, self.all_s - earlier.all_s, export_s)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of requests.

    Attributes:
        requests: How many were answered.
        wall_s: Seconds that they took.
        cpu: CPU time of each component, until its last span was stored.
        spans: Spans that Jaeger stored meanwhile.
        lost: Spans that were lost.
    """

    requests: int
    wall_s: float
    cpu: Mapping[str, Cpu]
    spans: int
    lost: int

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.wall_s


@dataclass(frozen=True, slots=True)
class Round:
    """The same requests, once untraced and once traced."""

    untraced: Run
    traced: Run


class Estimate(TypedDict):
    """A median over rounds and its 95 % interval; an end is null if there are too few rounds to tell."""

    value: float
    ci95: list[float | None]


class Throughput(TypedDict):
    """Requests per second: medians over rounds; the ratio is that of traced to untraced."""

    untraced: float
    traced: float
    ratio: Estimate


class ComponentCost(TypedDict):
    """CPU time of a component per request, µs.

    `main_thread_us` is what its main threads take more if requests are traced; `export_us` what it says that encoding
    and sending the spans of a request takes, which may be after the load; `spans` how many spans of a request it makes;
    `span_us` what one of them costs, null if it makes none.
    """

    component: str
    untraced_us: float
    traced_us: float
    more_us: Estimate
    main_thread_us: Estimate
    export_us: float
    spans: float
    span_us: float | None


class TracingCost(TypedDict):
    """What tracing costs. It holds if no span is lost and the throughput's ratio is at least `least_ratio`."""

    holds: bool
    least_ratio: float
    rounds: int
    requests: int
    spans_lost: int
    throughput: Throughput
    components: list[ComponentCost]
    all: ComponentCost


def tracing_cost(rounds: Sequence[Round], spans: Mapping[str, float]) -> TracingCost:
    """Puts the rounds together.

    Args:
        rounds: At least one.
        spans: How many spans each component makes of a request, mean.
    """
    names = list(dict.fromkeys(name for one in rounds for name in (*one.untraced.cpu, *one.traced.cpu)))
    lost = sum(one.traced.lost + one.untraced.lost for one in rounds)
    ratio = _estimate([one.traced.rate / one.untraced.rate for one in rounds])
    return TracingCost(
        holds=lost == 0 and ratio["value"] >= LEAST_RATIO,
        least_ratio=LEAST_RATIO,
        rounds=len(rounds),
        requests=sum(one.traced.requests + one.untraced.requests for one in rounds),
        spans_lost=lost,
        throughput=Throughput(
            untraced=median(one.untraced.rate for one in rounds),
            traced=median(one.traced.rate for one in rounds),
            ratio=ratio,
        ),
        components=[_cost(name, rounds, [name], spans.get(name, 0.0)) for name in names],
        all=_cost(ALL, rounds, names, sum(spans.values())),
    )


def _cost(label: str, rounds: Sequence[Round], names: Sequence[str], spans: float) -> ComponentCost:
    def each(run: Run, seconds: Callable[[Cpu], float]) -> float:
        return sum(seconds(run.cpu[name]) for name in names if name in run.cpu) / run.requests * _US_PER_S

    def more(seconds: Callable[[Cpu], float]) -> Estimate:
        return _estimate([each(one.traced, seconds) - each(one.untraced, seconds) for one in rounds])

    in_all = more(lambda cpu: cpu.all_s)
    return ComponentCost(
        component=label,
        untraced_us=median(each(one.untraced, lambda cpu: cpu.all_s) for one in rounds),
        traced_us=median(each(one.traced, lambda cpu: cpu.all_s) for one in rounds),
        more_us=in_all,
        main_thread_us=more(lambda cpu: cpu.main_s),
        export_us=median(each(one.traced, lambda cpu: cpu.export_s) for one in rounds),
        spans=spans,
        span_us=in_all["value"] / spans if spans else None,
    )


def _estimate(values: Sequence[float]) -> Estimate:
    ends: Interval = percentile_interval(values, 0.5)
    return Estimate(value=median(values), ci95=list(ends))
