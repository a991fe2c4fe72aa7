"""What can go wrong in an experiment. A command shows each of them in one message, without a traceback.

MeshError
├── InputError
│   └── UsageError         the user asked for something that does not exist: names the input and the valid choices
├── GeneratorError         the load generator failed, or took too long
├── ParityError            a topology answers differently from the data
└── EffectsDifferError     the same writes left different data in two topologies
"""

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import InputError, MeshError

SHOWN = 5
"""A list in a message has this many entries; the rest is counted."""


class UsageError(InputError):
    """The user asked for something that does not exist; the message names the input and the valid choices."""


class GeneratorError(MeshError):
    """The load generator failed; the message holds its own last words."""


class ParityError(MeshError):
    """A topology answers differently from the data.

    Args:
        topology: Name of the topology.
        compared: How many journeys were compared.
        differences: The journeys that differ, each of which says how as a string.
    """

    def __init__(self, topology: str, compared: int, differences: Sequence[object]) -> None:
        lines = "\n".join(f"  {difference}" for difference in differences[:SHOWN])
        more = f"\n  and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
        super().__init__(
            f"{topology} gives {len(differences)} wrong answers in {compared}, so nothing was measured:\n{lines}{more}"
        )


class EffectsDifferError(MeshError):
    """Two topologies were sent the same writes, and their databases differ.

    Args:
        topology: The one that differs.
        first: The one that it was compared with.
        tables: The tables that differ.
    """

    def __init__(self, topology: str, first: str, tables: Sequence[str]) -> None:
        super().__init__(
            f"after the same writes, the database of {topology} differs from that of {first} in: {', '.join(tables)}"
        )
