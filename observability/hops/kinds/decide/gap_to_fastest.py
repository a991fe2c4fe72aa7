"""Which part of the hop budget could account for the distance of the next topology from the fastest.

Means add up and medians do not: the distance from the fastest topology is a difference of medians, but the times of
parts are means. So a part that is large enough may still not be the cause. A part that both topologies have would
shrink in both, so only the extra time of the slower topology counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import polars as pl

from hops.analysis.hop_differences import hop_differences
from hops.budget.groups import UNATTRIBUTED_GROUP, group_of
from hops.budget.parts import NETWORK_PART
from hops.kinds.decide.mix import Kind, mean_of
from hops.kinds.decide.ranking import Ranking
from hops.run.documents.difference import PartDifference
from hops.run.documents.estimate import Estimate

FARTHER = "farther_ms"
"""Column: how much longer a journey takes on the requested networks than in the run, ms."""
_NOT_THE_SHOP = ("generator", UNATTRIBUTED_GROUP)
"""Groups of parts that belong to the instrument: no topology can shrink them."""


class Gap(TypedDict):
    """The part that most exceeds the fastest topology's part.

    `by_ms` is how far `topology`, the nearest that is shown to be slower, is behind `quickest` at p50. `part` is the
    part of the hop budget with the largest difference between their mean traces, and `more_ms` is that difference.
    Both are None if no part is shown to take longer. `enough` says whether the lower end of `more_ms` is at least
    `by_ms`, so that this part alone could account for the distance. `round_trips` are those of `topology` and of
    `quickest`.
    """

    topology: str
    quickest: str
    by_ms: Estimate
    part: str | None
    more_ms: Estimate | None
    enough: bool
    round_trips: list[float]
    source: list[str]


def explain_gap(
    fastest: Ranking,
    rows: Mapping[str, pl.DataFrame],
    hops: Mapping[str, pl.DataFrame],
    mix: Mapping[Kind, float],
    source: list[str],
    first: int | None = None,
) -> Gap | None:
    """Examines the nearest topology that is shown to be slower; None if no topology is.

    Args:
        rows: Weighted journeys by topology, with `round_trips` and `FARTHER`.
        hops: Rows of `rows.HOPS` with `block` as the first column, by topology; of journeys that ended ok.
        mix: Share of each kind of journey; hops of other kinds are left out.
    """
    nearest = next((row for row in fastest["behind"] if row["shown"]), None)
    if nearest is None:
        return None
    slower, faster = nearest["topology"], next(iter(fastest["values"]))
    farther = [mean_of(rows[name], FARTHER) for name in (slower, faster)]
    parts = _part_differences(hops, mix, slower, faster, farther, first)
    shown = [part for part in parts if (part["ci95"][0] or 0.0) > 0]
    most = max(shown, key=lambda part: part["difference_ms"], default=None)
    return Gap(
        topology=slower,
        quickest=faster,
        by_ms=Estimate(value=nearest["value"], ci95=nearest["ci95"]),
        part=None if most is None else most["part"],
        more_ms=None if most is None else Estimate(value=most["difference_ms"], ci95=most["ci95"]),
        enough=most is not None and (most["ci95"][0] or 0.0) >= nearest["value"],
        round_trips=[mean_of(rows[name], "round_trips") for name in (slower, faster)],
        source=source,
    )


def _part_differences(
    hops: Mapping[str, pl.DataFrame],
    mix: Mapping[Kind, float],
    left: str,
    right: str,
    farther: Sequence[float],
    first: int | None,
) -> list[PartDifference]:
    """Computes the left topology's extra time in each part, if networks take `farther` ms more than in the run."""
    kinds = pl.concat_str("journey", "channel", separator="/").alias("journey")
    of_pair = {name: hops[name].with_columns(kinds) for name in (left, right)}
    blocks = {name: set(frame["block"].unique()) for name, frame in of_pair.items()}
    load = {"/".join(kind): share for kind, share in mix.items()}
    split = hop_differences(of_pair, load, blocks, first=first)
    parts = {part["part"]: part for row in split[:1] for part in row["parts"]}
    network = parts.get(NETWORK_PART) or PartDifference(
        part=NETWORK_PART, left_ms=0.0, right_ms=0.0, difference_ms=0.0, ci95=[0.0, 0.0]
    )
    more = farther[0] - farther[1]
    parts[NETWORK_PART] = PartDifference(
        part=NETWORK_PART,
        left_ms=network["left_ms"] + farther[0],
        right_ms=network["right_ms"] + farther[1],
        difference_ms=network["difference_ms"] + more,
        # The model adds the same time to every block.
        ci95=[None if end is None else end + more for end in network["ci95"]],
    )
    return [part for name, part in parts.items() if name == NETWORK_PART or group_of(name) not in _NOT_THE_SHOP]
