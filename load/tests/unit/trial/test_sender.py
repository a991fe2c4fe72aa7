"""The resources of a load are sampled from a moment before its start."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment.generator.shopload import Load, Shopload, Tape
from experiment.trial.sender import LocalSender
from mesh.description.switches import Switches


@dataclass
class Target:
    """Counts how often its resources are sampled."""

    target: Path
    noted: list[str] = field(default_factory=list)
    switches: Switches = field(default_factory=Switches)

    def pids(self) -> dict[str, list[int]]:
        self.noted.append("look")
        return {}

    def check(self) -> None:
        """Does nothing: the target never ends."""


def test_the_first_look_is_over_before_the_load_begins(tmp_path: Path) -> None:
    target = Target(tmp_path)

    class Noting(Shopload):
        """Records the start of a load."""

        def start_replay(self, *_: Any, **__: Any) -> subprocess.Popen[bytes]:
            target.noted.append("load")
            return subprocess.Popen([sys.executable, "-c", ""])

    LocalSender(target, Noting(tmp_path)).replay(Load(Tape(tmp_path, "", 0, 1), 1.0), tmp_path)
    assert target.noted.index("load") == 1
