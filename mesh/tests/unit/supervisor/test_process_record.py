from __future__ import annotations

import os

import psutil
import pytest

from mesh.supervisor.process_record import Started


@pytest.mark.skipif(not psutil.LINUX, reason="only on Linux does psutil derive a process's start from the clock")
def test_a_process_is_found_after_a_step_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    item, booted = Started.of("ours", os.getpid()), psutil.boot_time()
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: booted + 3600)
    assert psutil.Process().create_time() > 3599 + item.created + booted
    assert item.find() is not None
