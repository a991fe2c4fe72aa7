"""Parity: before any load, a topology must answer every journey as the data says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiment.parity.reference import Reference
from mesh.errors import MeshError

#: A difference is shown up to this many places; the rest is counted.
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """One journey whose answer is not the reference answer.

    Attributes:
        seq: Its place on the parity tape.
        journey: Which journey.
        channel: Who sent it.
        params: With which parameters.
        places: Where the answers differ: a path, what came, what was expected.
    """

    seq: int
    journey: str
    channel: str
    params: Mapping[str, Any]
    places: tuple[str, ...]

    def __str__(self) -> str:
        shown = "; ".join(self.places[:SHOWN])
        more = f"; and {len(self.places) - SHOWN} more" if len(self.places) > SHOWN else ""
        return f"{self.journey} ({self.channel}, {_short(self.params)}): {shown}{more}"


class ParityError(MeshError):
    """A topology answers differently from the data.

    Args:
        topology: Its name.
        compared: How many journeys were compared.
        differences: Those that differ.
    """

    def __init__(self, topology: str, compared: int, differences: Sequence[Difference]) -> None:
        lines = "\n".join(f"  {difference}" for difference in differences[:SHOWN])
        more = f"\n  and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
        super().__init__(
            f"{topology} gives {len(differences)} wrong answers in {compared}, so nothing was measured:\n{lines}{more}"
        )
        self.differences = tuple(differences)


def compare(rows: Sequence[Mapping[str, Any]], reference: Reference) -> list[Difference]:
    """Compares sampled answers with the reference answers.

    Args:
        rows: What `shopload sample` wrote: seq, journey, channel, params, outcome, error, answer.
        reference: Where the right answers come from.

    Returns:
        The journeys that differ; empty if the topology answers everything right.
    """
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
