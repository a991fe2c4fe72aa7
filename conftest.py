"""What holds for the tests of all folders.

The folder `mesh/` has the name of the package inside it: imported first, the package is not taken for the folder.
"""

from __future__ import annotations

from typing import Any

import mesh  # noqa: F401

SHARED_SYSTEMS = ("services/tests/integration/edge/",)
"""Folders whose files share systems that take seconds to start: one worker runs all of them."""


def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Gives each worker whole files, and whole folders where files share a system."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((folder for folder in SHARED_SYSTEMS if nodeid.startswith(folder)), super()._split_scope(nodeid))

    return ByFileOrFolder(config, log)
