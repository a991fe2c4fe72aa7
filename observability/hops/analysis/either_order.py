"""Lookup of a summary's pairs in either order: a difference is always left minus right."""

from __future__ import annotations

from collections.abc import Mapping

from hops.run.documents.difference import Comparison, Finding, HopDifference, PartDifference
from hops.run.documents.summary import Summary
from hops.units import ALL

_OTHER_WAY: dict[Finding, Finding] = {"left_lower": "right_lower", "right_lower": "left_lower"}


class Pairs:
    """Finds what a summary says about two topologies, in whichever order it has them."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        rows, hops = summary["comparisons"], summary["hop_differences"]
        self._comparisons = {
            (row["journey"], row["metric"], row["left"], row["right"]): row for row in (*map(mirror, rows), *rows)
        }
        self._hops = {(row["journey"], row["left"], row["right"]): row for row in (*map(mirror_hops, hops), *hops)}

    def comparison(self, journey: str, metric: str, left: str, right: str) -> Comparison | None:
        """Returns the comparison of left with right; None if the summary does not have it."""
        return self._comparisons.get((journey, metric, left, right))

    def hops(self, journey: str, left: str, right: str) -> HopDifference | None:
        """Returns why left's mean differs from right's, by part of the budget; None if the summary does not say."""
        return self._hops.get((journey, left, right))

    def ranking(self, journey: str, metric: str) -> list[str]:
        """Lists the topologies that have a value of this metric, lowest first."""
        values = {name: value_of(self._summary, name, journey, metric) for name in self._summary["topologies"]}
        known = [(value, name) for name, value in values.items() if value is not None]
        return [name for _, name in sorted(known)]

    def journeys(self) -> list[str]:
        """Lists the journeys of all topologies by name, without `all`."""
        names = {name for figures in self._summary["topologies"].values() for name in figures["journeys"]}
        return sorted(names - {ALL})


def rename_arms(summary: Summary, names: Mapping[str, str]) -> Summary:
    """Selects arms of a summary, by their labels, with their comparisons, and renames them."""
    return {
        **summary,
        "topologies": {name: summary["topologies"][label] for label, name in names.items()},
        "comparisons": [
            {**row, "left": names[row["left"]], "right": names[row["right"]]}
            for row in summary["comparisons"]
            if row["left"] in names and row["right"] in names
        ],
    }


def value_of(summary: Summary, topology: str, journey: str, metric: str) -> float | None:
    """Looks up a topology's value of a latency metric, ms, or of `cpu_ms`; None if it was not measured."""
    figures = summary["topologies"][topology]
    if metric == "cpu_ms":
        total = figures["cost"].get("total")
        return None if total is None else total["value"]
    cell = figures["journeys"].get(journey)
    return None if cell is None else cell["latency_ms"].get(metric)


def mirror(row: Comparison) -> Comparison:
    """Exchanges left and right of a comparison."""
    low, high = row["ratio_ci95"]
    return {
        **row,
        "left": row["right"],
        "right": row["left"],
        "left_value": row["right_value"],
        "right_value": row["left_value"],
        "difference": _negative(row["difference"]),
        "ci95": _mirror_interval(row["ci95"]),
        "ratio": _inverse(row["ratio"]),
        "ratio_ci95": [_inverse(high), _inverse(low)],
        "effect": None if row["effect"] is None else 1.0 - row["effect"],
        "verdict": _OTHER_WAY.get(row["verdict"], row["verdict"]),
    }


def mirror_hops(row: HopDifference) -> HopDifference:
    """Exchanges left and right of a split difference."""
    return {
        **row,
        "left": row["right"],
        "right": row["left"],
        "traces": row["traces"][::-1],
        "difference_ms": -row["difference_ms"],
        "ci95": _mirror_interval(row["ci95"]),
        "parts": [_mirror_part(part) for part in row["parts"]],
        "groups": [_mirror_part(part) for part in row["groups"]],
    }


def _mirror_part(part: PartDifference) -> PartDifference:
    return PartDifference(
        part=part["part"],
        left_ms=part["right_ms"],
        right_ms=part["left_ms"],
        difference_ms=-part["difference_ms"],
        ci95=_mirror_interval(part["ci95"]),
    )


def _mirror_interval(ends: list[float | None]) -> list[float | None]:
    low, high = ends
    return [_negative(high), _negative(low)]


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _inverse(value: float | None) -> float | None:
    return None if not value else 1.0 / value
