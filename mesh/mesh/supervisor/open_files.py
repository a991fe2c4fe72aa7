"""The limit on open files, including connections, of a run's processes."""

from __future__ import annotations

import resource

from mesh.description.streams import MAX_STREAMS
from mesh.errors import SwitchError

OWN = 512
"""Open files of a process in addition to its clients' connections: its logs, and connections to the database and to
other components."""


def allow(connections: int) -> None:
    """Raises this process's limit on open files, which components inherit; many systems default to 1,024.

    Raises:
        SwitchError: The user's limit is too low for this number of clients' connections.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A proxy has two connections for each request or stream, one on each side.
    needed, wished = OWN + 2 * connections, OWN + 2 * MAX_STREAMS
    most = wished if hard == resource.RLIM_INFINITY else min(wished, hard)
    if most < needed:
        raise SwitchError(
            f"connections={connections}: processes need {needed} open files for that many, but this user may have "
            f"only {hard} (`ulimit -Hn`); raise that limit, or give at most connections={max(1, (hard - OWN) // 2)}."
        )
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
