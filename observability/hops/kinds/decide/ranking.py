"""Rankings of the topologies by one figure, and which topologies are shown to be above the lowest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from hops.analysis.comparisons import correct
from hops.analysis.either_order import mirror
from hops.run.documents.difference import Comparison
from hops.run.documents.estimate import Estimate


class Behind(Estimate):
    """How far a topology's figure is above the lowest.

    `shown` says whether the difference is shown after the correction over all pairs and channels. `visible_ratio` is
    the smallest ratio that would have been shown. `reason` says why nothing could be tested.
    """

    topology: str
    p_corrected: float | None
    visible_ratio: float | None
    shown: bool
    reason: str | None


class Ranking(TypedDict):
    """One figure of every topology, and which topology is lowest.

    `values` has the lowest first. `lowest` names the lowest topology and every topology not shown to be above it; a
    single name is shown to be the lowest. `behind` compares each other topology with the first of `values`. `source`
    names the files and fields of the results folder that the figures come from.
    """

    lowest: list[str]
    values: dict[str, Estimate]
    behind: list[Behind]
    source: list[str]


def rankings(
    values: Mapping[str, Mapping[str, Estimate | None]], pairs: Sequence[Comparison], source: list[str]
) -> dict[str, Ranking]:
    """Ranks the topologies in several scopes, after one correction over all; `journey` of a pair names its scope."""
    correct(pairs)
    return {
        scope: ranking(of, [row for row in pairs if row["journey"] == scope], source) for scope, of in values.items()
    }


def ranking(values: Mapping[str, Estimate | None], pairs: Sequence[Comparison], source: list[str]) -> Ranking:
    """Ranks the topologies by one figure; `pairs` has verdicts for every pair of them."""
    known = {name: value for name, value in values.items() if value is not None}
    order = sorted(known, key=lambda name: known[name]["value"])
    behind = [
        Behind(
            topology=row["left"],
            value=abs(row["difference"]),
            ci95=row["ci95"],
            p_corrected=row["p_corrected"],
            visible_ratio=row["visible_ratio"],
            shown=row["verdict"] == "right_lower",
            reason=row["reason"],
        )
        for row in (*pairs, *map(mirror, pairs))
        if row["right"] in order[:1] and row["difference"] is not None
    ]
    above = {row["topology"] for row in behind if row["shown"]}
    return Ranking(
        lowest=[name for name in order if name not in above],
        values={name: known[name] for name in order},
        behind=sorted(behind, key=lambda row: row["value"]),
        source=source,
    )
