"""The mean trace of a topology by call path, and the difference of two mean traces.

Each figure belongs to a frame of a flame graph: the time of a call path together with all paths below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from hops.analysis.hop_differences import hop_differences
from hops.budget.call_paths import SEPARATOR, frames_of
from hops.budget.groups import GATEWAY_SUFFIX
from hops.budget.parts import is_proxy
from hops.run.documents.difference import PartDifference
from hops.units import NS_PER_MS

_TO, _GATEWAY = "→", "gateway"


def mean_trace(paths: pl.DataFrame) -> dict[str, float]:
    """Computes the mean of all traces of one topology, each trace counted once, as in its mean hop budget.

    Returns ms by frame; a root's frame has the whole latency. Empty without traces.
    """
    traces = int(paths.unique(["block", "journey"])["traces"].sum())
    sums = Counter[str]()
    for path, ns in paths.group_by("path").agg(pl.col("ns").sum()).iter_rows():
        sums.update(dict.fromkeys(frames_of(path), ns))
    return {frame: ns / traces / NS_PER_MS for frame, ns in sums.items()}


def frame_differences(
    paths: Mapping[str, pl.DataFrame], load: Mapping[str, float], blocks: Mapping[str, set[int]], first: int | None
) -> list[PartDifference]:
    """Computes the difference between two topologies' mean traces, with the weights and intervals of `hop_differences`.

    Paths are named as by `align`. Returns no rows if no journey has traces on both sides.
    """
    framed = {name: rows.join(_aligned_frames(rows), on="path") for name, rows in paths.items()}
    of_pair = hop_differences(framed, load, blocks, first=first)
    return of_pair[0]["parts"] if of_pair else []


def align(path: str) -> str:
    """Renames a path so that topologies with and without edge, gateways or sidecars have the same paths.

    Components that forward requests keep only their own time: the calls that they make move up to their caller. Calls
    are named by the callee alone, and each gateway is `gateway`. For example, `client;wire:client→edge;proxy:edge;`
    `wire:edge→order` becomes `client;wire:→order`.
    """
    *above, last = path.split(SEPARATOR)
    return SEPARATOR.join(map(_rename, (*(part for part in above if not _forwards(part)), last)))


def _forwards(part: str) -> bool:
    kind, _, name = part.partition(":")
    component = name.rpartition(_TO)[2]
    return kind in ("wire", "work", "proxy") and (is_proxy(component) or component.endswith(GATEWAY_SUFFIX))


def _rename(part: str) -> str:
    kind, colon, name = part.partition(":")
    _, to, component = name.rpartition(_TO)
    return f"{kind}{colon}{to}{_GATEWAY if component.endswith(GATEWAY_SUFFIX) else component}"


def _aligned_frames(paths: pl.DataFrame) -> pl.DataFrame:
    rows = [(path, frame) for path in paths["path"].unique() for frame in frames_of(align(path))]
    return pl.DataFrame(rows, schema={"path": pl.String, "part": pl.String}, orient="row")
