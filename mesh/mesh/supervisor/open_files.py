"""How many files, connections among them, a process of a run may have open."""

from __future__ import annotations

import resource

from mesh.description.switches import MAX_CONNECTIONS
from mesh.errors import SwitchError

OWN = 512
"""Files that a process has open besides its clients' connections: to the database, to other components, its logs."""


def allow(connections: int) -> None:
    """Raises this process's limit, which components inherit: many systems begin with 1,024.

    Args:
        connections: Connections that clients open.

    Raises:
        SwitchError: The user's own limit is too low for so many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A proxy has a connection on either side for each request.
    needed, wished = OWN + 2 * connections, OWN + 2 * MAX_CONNECTIONS
    most = wished if hard == resource.RLIM_INFINITY else min(wished, hard)
    if most < needed:
        raise SwitchError(
            f"connections={connections}: processes need {needed} open files for so many, and this user may have {hard} "
            f"(`ulimit -Hn`); raise that, or give at most connections={max(1, (hard - OWN) // 2)}."
        )
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
