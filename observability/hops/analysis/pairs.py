"""The pairs of a summary, looked up either way round: a difference is always left less right."""

from __future__ import annotations

from typing import Literal

from hops.run.documents import Comparison, HopDifference, PartDifference, Summary
from hops.units import ALL

#: Of a journey's latency; the comparisons that conclusions are drawn from.
LATENCY_METRICS = ("mean", "p50", "p90", "p95", "p99")

_OTHER_WAY: dict[str, Literal["left_lower", "right_lower", "not_shown", "unknown"]] = {
    "left_lower": "right_lower",
    "right_lower": "left_lower",
    "not_shown": "not_shown",
    "unknown": "unknown",
}


class Pairs:
    """Finds what a summary says about two topologies, whichever of them it has on the left.

    Args:
        summary: as of `summary.json`.
    """

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._comparisons = {(row["journey"], row["metric"], row["left"], row["right"]): row for row in _rows(summary)}
        self._hops = {(row["journey"], row["left"], row["right"]): row for row in summary["hop_differences"]}

    def comparison(self, journey: str, metric: str, left: str, right: str) -> Comparison | None:
        """The comparison of left with right; None if the summary has neither it nor its mirror image."""
        found = self._comparisons.get((journey, metric, left, right))
        if found is not None:
            return found
        mirrored = self._comparisons.get((journey, metric, right, left))
        return None if mirrored is None else mirror(mirrored)

    def hops(self, journey: str, left: str, right: str) -> HopDifference | None:
        """Why left's mean differs from right's, by parts of the budget; None if the summary does not say."""
        found = self._hops.get((journey, left, right))
        if found is not None:
            return found
        mirrored = self._hops.get((journey, right, left))
        return None if mirrored is None else mirror_hops(mirrored)

    def ranking(self, journey: str, metric: str) -> list[str]:
        """The topologies that have a value for this metric, lowest first."""
        values = {name: value_of(self._summary, name, journey, metric) for name in self._summary["topologies"]}
        known = [(value, name) for name, value in values.items() if value is not None]
        return [name for _, name in sorted(known)]

    def journeys(self) -> list[str]:
        """Every journey of any topology by name, without `all`."""
        names = {name for found in self._summary["topologies"].values() for name in found["journeys"]}
        return sorted(names - {ALL})


def value_of(summary: Summary, topology: str, journey: str, metric: str) -> float | None:
    """One topology's own value of a latency metric, ms, or of `cpu_ms`; None where nothing was measured."""
    found = summary["topologies"][topology]
    if metric == "cpu_ms":
        total = found["cost"].get("total")
        return None if total is None else total["value"]
    cell = found["journeys"].get(journey)
    return None if cell is None else cell["latency_ms"].get(metric)


def mirror(row: Comparison) -> Comparison:
    """The same comparison with left and right changed over."""
    low, high = row["ratio_ci95"]
    return Comparison(
        journey=row["journey"],
        metric=row["metric"],
        left=row["right"],
        right=row["left"],
        left_value=row["right_value"],
        right_value=row["left_value"],
        difference=_negative(row["difference"]),
        ci95=_turned(row["ci95"]),
        ratio=_inverse(row["ratio"]),
        ratio_ci95=[_inverse(high), _inverse(low)],
        p=row["p"],
        p_holm=row["p_holm"],
        effect=None if row["effect"] is None else 1.0 - row["effect"],
        verdict=_OTHER_WAY[row["verdict"]],
        reason=row["reason"],
    )


def mirror_hops(row: HopDifference) -> HopDifference:
    """The same split of a difference with left and right changed over."""
    return HopDifference(
        journey=row["journey"],
        left=row["right"],
        right=row["left"],
        traces=row["traces"][::-1],
        difference_ms=-row["difference_ms"],
        ci95=_turned(row["ci95"]),
        parts=[_mirror_part(part) for part in row["parts"]],
        groups=[_mirror_part(part) for part in row["groups"]],
    )


def _rows(summary: Summary) -> list[Comparison]:
    return summary["comparisons"]


def _mirror_part(part: PartDifference) -> PartDifference:
    return PartDifference(
        part=part["part"],
        left_ms=part["right_ms"],
        right_ms=part["left_ms"],
        difference_ms=-part["difference_ms"],
        ci95=_turned(part["ci95"]),
    )


def _turned(ends: list[float | None]) -> list[float | None]:
    low, high = ends
    return [_negative(high), _negative(low)]


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _inverse(value: float | None) -> float | None:
    return None if not value else 1.0 / value
