"""The memory of components at each number of open connections, from the rows of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypedDict, cast

import polars as pl

from hops.analysis.summary import Measured, every_gate
from hops.gates.limits import kind_of
from hops.run.documents.gate import Gate, LeftOut
from hops.run.files import RunFiles

KIND: Final = "connections"
STEADY_LOOKS, STEADY_SHARE = 3, 0.005
"""Memory is steady once this many consecutive samples each differ from the previous sample by less than this share."""


class Held(TypedDict):
    """Memory of one component with a number of open connections: MiB, one value for each block."""

    topology: str
    component: str
    connections: int
    memory_mb: list[float]


class Connections(TypedDict):
    """Memory at each number of connections, and where memory was still changing, in words."""

    held: list[Held]
    unsteady: list[str]


def connections_of(summary: Mapping[str, object]) -> Connections:
    """Gives the part of a summary that only a run with open connections has."""
    return cast("Connections", summary[KIND])


def is_steady(totals_mb: Sequence[float]) -> bool:
    """Whether the memory of all components is steady, from the samples so far."""
    last = totals_mb[-STEADY_LOOKS - 1 :]
    return len(last) > STEADY_LOOKS and all(abs(now - before) < STEADY_SHARE * before for before, now in pairwise(last))


def connections_figures(measured: Measured) -> Mapping[str, Connections]:
    """Computes the figures that only a run with open connections has."""
    looks = measured.run.observed["looks"]
    steps = looks.group_by("block", "topology", "held", "at_s").agg(pl.col("memory_mb").sum())
    unsteady = [
        f"{topology} at {held} connections in block {block}"
        for (block, topology, held), of in sorted(steps.group_by("block", "topology", "held"))
        if not is_steady(of.sort("at_s")["memory_mb"].to_list())
    ]
    last = looks.filter(pl.col("at_s") == pl.col("at_s").max().over("block", "topology", "held")).sort("block")
    held = [
        Held(topology=topology, component=component, connections=count, memory_mb=of["memory_mb"].to_list())
        for topology in measured.journeys
        for (component, count), of in sorted(
            last.filter(pl.col("topology") == topology).group_by("component", "held", maintain_order=True)
        )
    ]
    return {KIND: Connections(held=held, unsteady=unsteady)}


def gates_of(run: RunFiles, figures: Mapping[str, Any]) -> tuple[list[Gate], list[LeftOut]]:
    """Evaluates the gates of all trials, and the gate on steady memory."""
    gates, left_out = every_gate(run, figures)
    return [*gates, kind_of("unsteady").evaluate(len(connections_of(figures)["unsteady"]))], left_out
