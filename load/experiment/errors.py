"""Errors of an experiment. A command shows an error as a single message, without a traceback.

MeshError
├── InputError
│   └── UsageError         the user asked for something that does not exist: names the input and the valid choices
├── GeneratorError         the load generator failed, or took too long
├── DatabaseFailedError    a trial's database ended, or refused a statement
├── ParityError            a topology's answers differ from the data
└── EffectsDifferError     the same writes left different data in two topologies
"""

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import InputError, MeshError

SHOWN = 5
"""Maximum number of list entries that a message shows; the rest are only counted."""


class UsageError(InputError):
    """The user asked for something that does not exist; the message names the input and the valid choices."""


class GeneratorError(MeshError):
    """The load generator failed; the message contains the generator's last output."""


class DatabaseFailedError(MeshError):
    """A trial's database ended, or refused a statement."""


class ParityError(MeshError):
    """A topology's answers differ from the data; the string form of each difference says how."""

    def __init__(self, topology: str, compared: int, differences: Sequence[object]) -> None:
        lines = "\n".join(f"  {difference}" for difference in differences[:SHOWN])
        more = f"\n  and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
        super().__init__(
            f"{topology} gave {len(differences)} wrong answers out of {compared}, so nothing was measured:\n"
            f"{lines}{more}"
        )


class EffectsDifferError(MeshError):
    """Two topologies were sent the same writes, and their databases differ."""

    def __init__(self, topology: str, first: str, tables: Sequence[str]) -> None:
        super().__init__(
            f"after the same writes, the database of {topology} differs from that of {first} in: {', '.join(tables)}"
        )
