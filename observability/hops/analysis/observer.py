"""What watching costs: sampled against unsampled journeys of the same trials, a randomised experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from hops.run.documents import ObserverEffect
from hops.statistics.over_blocks import LEAST_BLOCKS, spread_of
from hops.statistics.sample import Floats, observer_effect, stratified_effect
from hops.units import NS_PER_MS

Strata = list[tuple[Floats, Floats]]


def observer_effect_of(journeys: pl.DataFrame, *, seed: int = 0) -> ObserverEffect:
    """Median latency of sampled minus unsampled journeys that ended ok, stratified by journey.

    The interval of one block is a bootstrap within it, that of three and more the one over blocks
    (`hops.statistics.over_blocks`).

    Args:
        journeys: rows of `rows.JOURNEYS` with `block` and `topology` in front; a stratum is a journey of one topology.
        seed: of the bootstrap.
    """
    ok = journeys.filter(pl.col("outcome") == "ok")
    blocks = sorted(ok["block"].unique())
    if len(blocks) <= 1:
        effect = observer_effect(_strata(ok), seed=seed)
        if effect is None:
            return ObserverEffect(p50=None, ci95=[None, None])
        return ObserverEffect(p50=effect.value, ci95=list(effect.interval))
    value = stratified_effect(_strata(ok))
    by_block = [stratified_effect(_strata(ok.filter(pl.col("block") == block))) for block in blocks]
    return ObserverEffect(p50=value, ci95=_over_blocks(value, by_block))


def _over_blocks(value: float | None, by_block: Sequence[float | None]) -> list[float | None]:
    known = np.array([one for one in by_block if one is not None])
    if value is None or known.size < max(LEAST_BLOCKS, len(by_block)):
        return [None, None]
    return list(spread_of(known - value).around(value))


def _strata(ok: pl.DataFrame) -> Strata:
    keys = ("topology", "journey")
    cells = ok.select(*keys, "sampled", "latency_ns").partition_by(*keys, as_dict=True)
    strata: Strata = []
    for key in sorted(cells, key=lambda key: tuple(map(str, key))):
        latencies = cells[key]["latency_ns"].to_numpy() / NS_PER_MS
        sampled = cells[key]["sampled"].to_numpy()
        strata.append((latencies[sampled], latencies[~sampled]))
    return strata
