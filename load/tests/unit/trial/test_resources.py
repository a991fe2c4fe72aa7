"""The sampler sees what processes really use, children included."""

from __future__ import annotations

import subprocess
import sys
import time

from experiment.trial.resources import ResourceSampler

BUSY = "import time\nwhile time.process_time() < 0.5: pass"
BUSY_CHILD = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', "
    "'import time; end = time.process_time() + 0.4\\nwhile time.process_time() < end: pass\\ntime.sleep(30)'])"
)


def test_cpu_of_a_child_is_counted_to_its_component() -> None:
    process = subprocess.Popen([sys.executable, "-c", BUSY_CHILD], start_new_session=True)
    try:
        with ResourceSampler(lambda: {"busy": [process.pid], "idle": []}, interval_s=0.1) as sampler:
            limit = time.monotonic() + 20
            while sampler.cpu_seconds().get("busy", 0.0) < 0.4 and time.monotonic() < limit:
                time.sleep(0.05)
        assert sampler.cpu_seconds()["busy"] >= 0.3
        assert sampler.cpu_seconds()["idle"] == 0.0
        assert sampler.peak_memory_mb()["busy"] > 1.0
        assert sampler.peak_memory_of_all_mb() >= sampler.peak_memory_mb()["busy"]
        assert 0.0 <= sampler.steal_share() <= 1.0
    finally:
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
        process.wait(timeout=10)


def test_a_process_that_ended_keeps_its_last_figure() -> None:
    process = subprocess.Popen([sys.executable, "-c", "sum(range(30_000_000)); import time; time.sleep(30)"])
    with ResourceSampler(lambda: {"short": [process.pid]}, interval_s=0.05) as sampler:
        time.sleep(1.0)
        process.kill()
        process.wait(timeout=10)
    assert sampler.cpu_seconds()["short"] > 0.0


def test_programs_beside_the_run_are_seen_and_components_are_not_among_them() -> None:
    began = time.monotonic()
    with ResourceSampler(dict, interval_s=0.1) as sampler:
        subprocess.run([sys.executable, "-c", BUSY], check=True, timeout=30)
    wall_s = time.monotonic() - began
    assert sampler.other_cores([]) >= 0.4 / wall_s
    assert sampler.other_cores([1e6]) == 0.0
