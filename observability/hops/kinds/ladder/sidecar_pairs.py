"""What a pair of sidecars adds to a call: the time between caller and callee with sidecars, minus the time without.

That time is spent on the wires and in both proxies, and does not depend on the services' work. Every call counts, even
off the critical path.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hops.budget.parts import GENERATOR
from hops.kinds.ladder.arms import CLUSTER, CLUSTER_ISTIO, EDGE, ISTIO, MTLS, SIDECARS
from hops.kinds.ladder.document import Added, SidecarPair
from hops.statistics.contrast import contrast
from hops.statistics.over_blocks import Section, sections_of
from hops.units import ALL, NS_PER_MS

WITHOUT: Mapping[str, str] = {SIDECARS: EDGE, MTLS: EDGE, ISTIO: EDGE, CLUSTER_ISTIO: CLUSTER}
"""Arms with sidecars, each with its counterpart without them."""


def sidecar_pairs(calls: Mapping[str, pl.DataFrame], blocks: Mapping[str, set[int]]) -> list[SidecarPair]:
    """Compares each arm with sidecars to its counterpart, over all links and by link; from journeys that ended ok."""
    pairs: list[SidecarPair] = []
    for arm, bare in WITHOUT.items():
        if arm not in calls or bare not in calls:
            continue
        shared = sorted(blocks[arm] & blocks[bare])
        with_sidecars, without = (_between(calls[name]) for name in (arm, bare))
        links = sorted(set(with_sidecars["link"]) & set(without["link"]))
        for link in (ALL, *links) if links else ():
            chosen = pl.col("link").is_in(links if link == ALL else [link])
            sides = [
                [rows.filter(pl.col("block") == block)["ms"].to_numpy() for block in shared]
                for rows in (with_sidecars.filter(chosen), without.filter(chosen))
            ]
            fewest = min(sum(map(len, side)) for side in sides) / max(1, len(shared))
            upper, lower = (sections_of(side, fewest) for side in sides)
            pairs.append(
                SidecarPair(
                    arm=arm,
                    link=link,
                    calls=[sum(map(len, side)) for side in reversed(sides)],
                    mean=_compute_added(upper["mean"], lower["mean"]),
                    p99=_compute_added(upper["p99"], lower["p99"]),
                )
            )
    return pairs


def _between(calls: pl.DataFrame) -> pl.DataFrame:
    """Selects the calls between components with sidecars; the clients, outside the mesh, have no sidecars."""
    return calls.filter(pl.col("caller") != GENERATOR).select(
        "block",
        pl.concat_str("caller", "callee", separator="→").alias("link"),
        # A call that took no time has no logarithm; the clock's smallest step replaces it.
        (pl.col("between_ns").clip(1) / NS_PER_MS).alias("ms"),
    )


def _compute_added(upper: Section, lower: Section) -> Added:
    result = contrast(upper, lower)
    reason = None if result.reason is None else result.reason.replace("journey", "call")
    return Added(value=result.difference, ci95=list(result.interval), reason=reason)
