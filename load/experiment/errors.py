"""The errors that a user of the experiment commands can cause."""

from __future__ import annotations

from mesh.errors import InputError


class UsageError(InputError):
    """The user asked for something that is not there; the message names the input and the valid choices."""
