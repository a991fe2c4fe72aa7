"""The resources of a load are sampled from a moment before its start."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import GeneratorError
from experiment.generator.shopload import Load, Shopload, Tape
from experiment.plan.probes import Looking
from experiment.trial.outcome import Clock
from experiment.trial.probes import observe
from experiment.trial.sender import LocalSender
from mesh.description.switches import Switches


@dataclass
class Target:
    """Counts how often its resources are sampled."""

    target: Path
    noted: list[str] = field(default_factory=list)
    switches: Switches = field(default_factory=Switches)
    database: None = None

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


def test_a_soak_test_ends_when_the_generator_does(tmp_path: Path) -> None:
    class Ending(Shopload):
        """Ends with an error soon after the load has begun."""

        def start_replay(self, *_: Any, **__: Any) -> subprocess.Popen[bytes]:
            return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1); raise SystemExit(3)"])

    target, shopload, load = Target(tmp_path), Ending(tmp_path), Load(Tape(tmp_path, "", 0, 1), 15.0)
    began = time.monotonic()
    with observe(Looking(0.5), target, shopload, load, tmp_path, Clock(), print) as observed:
        assert observed.sender
        with pytest.raises(GeneratorError, match="exit code 3"):
            observed.sender.replay(load, tmp_path)
    assert time.monotonic() - began < 10
    assert target.noted.count("look") > 3  # those of the probe, too
