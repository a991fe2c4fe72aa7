"""A run for the crash tests: `python crash_run.py ROOT BASE`, whose components start one after the other."""

from __future__ import annotations

from mesh.supervisor.early_interrupt import end_quietly

end_quietly()

# ruff: noqa: E402 - imports take long enough to be interrupted
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mesh.description.ports import load_ports
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component
from mesh.supervisor.reporting import reported
from mesh.supervisor.run import Run

ALONE = "import time; time.sleep(99)"


class CrashRun(Run):
    def port_names(self) -> list[str]:
        return []

    def components(self) -> Sequence[Component]:
        """Returns three sleepers and a task; each has the run's folder on its command line, so that tests find it."""
        mark = str(self.folder.path)

        def argv(code: str) -> Sequence[str]:
            return [sys.executable, "-c", code, mark]

        return [
            Component("one", argv=lambda: argv(ALONE), ready=lambda: True),
            Component("task", argv=lambda: argv("import time; time.sleep(0.2)"), after=frozenset({"one"})),
            Component("two", argv=lambda: argv(ALONE), ready=lambda: True, after=frozenset({"task"})),
            Component("three", argv=lambda: argv(ALONE), ready=lambda: True, after=frozenset({"task"}), stop_rank=1),
        ]


if __name__ == "__main__":
    with (
        reported(),
        CrashRun(load_ports({"SHOP_PORT_BASE": sys.argv[2]}), RunFolder.of(int(sys.argv[2]), Path(sys.argv[1]))),
    ):
        print("up", flush=True)
        time.sleep(99)
