"""Latencies by topology, journey and block: the basis of every figure over blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import Section, sections_of
from hops.units import ALL, NS_PER_MS


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of one topology's journeys.

    Args:
        cells: Milliseconds by journey and block; `all` is one of the journeys, and each journey has the same blocks.
        first: Number of blocks in the first stage (`hops.statistics.two_stage`); None if all blocks were planned.
    """

    cells: Mapping[str, Mapping[int, Floats]]
    first: int | None = None
    _known: dict[tuple[str, tuple[int, ...], float | None], dict[str, Section]] = field(
        default_factory=dict, compare=False
    )

    @property
    def blocks(self) -> set[int]:
        """The blocks with at least one journey."""
        return set(self.cells.get(ALL, {}))

    def pool(self, journey: str, blocks: Iterable[int]) -> Floats:
        """Collects a journey's latencies in these blocks, ms."""
        cell = self.cells.get(journey, {})
        latencies = [cell[block] for block in blocks if block in cell]
        return np.concatenate(latencies) if latencies else np.empty(0)

    def sections(self, journey: str, blocks: Iterable[int], per_block: float | None = None) -> dict[str, Section]:
        """Computes mean and percentiles of a journey over these blocks; `per_block` is as in `sections_of`."""
        key = (journey, tuple(blocks), per_block)
        if key not in self._known:
            cell = self.cells.get(journey, {})
            values = [cell.get(block, np.empty(0)) for block in key[1]]
            self._known[key] = sections_of(values, per_block, self.first)
        return self._known[key]


def intersect_blocks(arms: Iterable[Latencies]) -> list[int]:
    """Lists the blocks in which each arm has a journey."""
    return sorted(set.intersection(*(arm.blocks for arm in arms)))


def pair_sections(
    left: Latencies, right: Latencies, journey: str, left_blocks: Sequence[int], right_blocks: Sequence[int]
) -> tuple[dict[str, Section], dict[str, Section]]:
    """Computes a journey's figures on both sides, with equally many sections for equally many blocks."""
    sides = (left, left_blocks), (right, right_blocks)
    fewest = min(side.pool(journey, blocks).size / max(1, len(blocks)) for side, blocks in sides)
    return left.sections(journey, left_blocks, fewest), right.sections(journey, right_blocks, fewest)


def latencies_of(journeys: pl.DataFrame, first: int | None = None) -> Latencies:
    """Groups one topology's rows of `rows.JOURNEYS` by journey and `block`, if the journey ended ok."""
    ok = journeys.filter(pl.col("outcome") == "ok").select("journey", "block", "latency_ns")
    latencies: dict[tuple[str, int], Floats] = {
        (str(journey), int(block)): rows["latency_ns"].to_numpy() / NS_PER_MS
        for (journey, block), rows in ok.partition_by("journey", "block", as_dict=True).items()
    }
    return Latencies(cells_of(latencies), first)


def cells_of(latencies: Mapping[tuple[str, int], Floats]) -> dict[str, dict[int, Floats]]:
    """Groups latencies, ms, by journey, then by block; `all` has all journeys together."""
    blocks = sorted({block for _, block in latencies})
    names = sorted({journey for journey, _ in latencies})
    cells = {name: {block: latencies.get((name, block), np.empty(0)) for block in blocks} for name in names}
    everything = {block: np.concatenate([cells[name][block] for name in names]) for block in blocks}
    return {ALL: everything, **cells}
