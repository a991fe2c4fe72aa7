"""Checks parity: before any load, a topology's answer to every journey must match the data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from experiment.errors import SHOWN, ParityError
from experiment.generator.shopload import Shopload, Tape
from experiment.parity.reference import Reference
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Difference:
    """A journey whose answer differs from the reference; each place has a path, the actual and the right value."""

    seq: int
    journey: str
    channel: str
    params: Mapping[str, Any]
    places: tuple[str, ...]

    def __str__(self) -> str:
        shown = "; ".join(self.places[:SHOWN])
        more = f"; and {len(self.places) - SHOWN} more" if len(self.places) > SHOWN else ""
        return f"{self.journey} ({self.channel}, {_short(self.params)}): {shown}{more}"


def check_answers(
    system: Runtime, shopload: Shopload, tape: Tape, out: Path, may_differ: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Sends a parity sample through a system, and compares its answers with the data.

    Args:
        may_differ: Kinds of journeys whose answers are not compared; these journeys must still end ok.

    Returns:
        The answers that were compared, as `shopload sample` wrote them.

    Raises:
        ParityError: An answer differs from the data.
    """
    rows = drop_aborted(shopload.sample(tape, system.target, out), aborts=bool(system.switches.abort_share))
    rows = [row for row in rows if row["journey"] not in may_differ or row["outcome"] != "ok"]
    with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection:
        differences = compare(rows, Reference(connection))
    if differences:
        raise ParityError(system.topology.name, len(rows), differences)
    return rows


def drop_aborted(rows: list[dict[str, Any]], *, aborts: bool) -> list[dict[str, Any]]:
    """Returns the answers that must be correct, without the shop's failures if sidecars abort calls on purpose."""
    return [row for row in rows if not aborts or row["outcome"] != "server"]


def compare(rows: Sequence[Mapping[str, Any]], reference: Reference) -> list[Difference]:
    """Returns the differences between rows that `shopload sample` wrote and the reference answers."""
    differences = []
    for row in rows:
        if row["outcome"] != "ok":
            places: tuple[str, ...] = (f"failed as {row['outcome']}: {row['error']}",)
        else:
            places = tuple(_places("", row["answer"], reference.answer(row["journey"], row["params"])))
        if places:
            differences.append(Difference(row["seq"], row["journey"], row["channel"], row["params"], places))
    return differences


def _places(path: str, came: Any, expected: Any) -> Iterator[str]:
    if isinstance(came, dict) and isinstance(expected, dict):
        for key in sorted(came.keys() | expected.keys()):
            here = f"{path}.{key}" if path else key
            if key not in expected:
                yield f"{here}: not expected"
            elif key not in came:
                yield f"{here}: missing"
            else:
                yield from _places(here, came[key], expected[key])
    elif isinstance(came, list) and isinstance(expected, list):
        if len(came) != len(expected):
            yield f"{path}: {len(came)} entries, expected {len(expected)}"
        for number, (one, other) in enumerate(zip(came, expected, strict=False)):
            yield from _places(f"{path}[{number}]", one, other)
    elif came != expected or isinstance(came, bool) is not isinstance(expected, bool):
        yield f"{path}: {_short(came)}, expected {_short(expected)}"


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
