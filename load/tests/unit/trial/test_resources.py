"""The sampler measures what processes use, including their children."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiment.trial import resources
from experiment.trial.resources import ResourceSampler, memory_mb, peak_memory_mb, peak_memory_of_all_mb, stall_share

BUSY = "import time\nwhile time.process_time() < 0.5: pass"
BUSY_CHILD = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', "
    "'import time; end = time.process_time() + 0.4\\nwhile time.process_time() < end: pass\\ntime.sleep(30)'])"
)

# runs in a separate process, because memory that other tests left in this process's allocator would count too
SHARES = """
import mmap, sys
with mmap.mmap(-1, 32 << 20) as shared:  # anonymous and shared, as PostgreSQL's buffers are
    print("mapped", flush=True)
    sys.stdin.readline()
    for page in range(0, 32 << 20, mmap.PAGESIZE):
        shared[page] = 1
    print("used", flush=True)
    sys.stdin.readline()
"""


def test_cpu_of_a_child_counts_for_its_component() -> None:
    process = subprocess.Popen([sys.executable, "-c", BUSY_CHILD], start_new_session=True)
    try:
        with ResourceSampler(lambda: {"busy": [process.pid], "idle": []}, interval_s=0.1) as sampler:
            limit = time.monotonic() + 20
            while sampler.cpu_seconds().get("busy", 0.0) < 0.4 and time.monotonic() < limit:
                time.sleep(0.05)
        assert sampler.cpu_seconds()["busy"] >= 0.3
        assert sampler.cpu_seconds()["idle"] == 0.0
        assert peak_memory_mb(sampler.samples)["busy"] > 1.0
        assert peak_memory_of_all_mb(sampler.samples) >= peak_memory_mb(sampler.samples)["busy"]
        assert 0.0 <= sampler.steal_share() <= 1.0
        assert sampler.machine_speed() > 0.0
    finally:
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
        process.wait(timeout=10)


def test_cpu_of_a_component_that_starts_later_counts_from_its_start() -> None:
    heads = dict[str, list[int]]()
    program = f"{BUSY}\nprint('done', flush=True)\ninput()"
    with ResourceSampler(lambda: {**heads}, interval_s=60) as sampler:
        process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        heads["late"] = [process.pid]
    process.communicate(b"\n", timeout=10)
    assert sampler.cpu_seconds()["late"] >= 0.4


def test_a_process_that_ended_keeps_its_last_figure() -> None:
    process = subprocess.Popen([sys.executable, "-c", "sum(range(30_000_000)); import time; time.sleep(30)"])
    with ResourceSampler(lambda: {"short": [process.pid]}, interval_s=0.05) as sampler:
        time.sleep(1.0)
        process.kill()
        process.wait(timeout=10)
    assert sampler.cpu_seconds()["short"] > 0.0


def test_programs_outside_the_run_are_seen_without_the_components() -> None:
    began = time.monotonic()
    with ResourceSampler(dict, interval_s=0.1) as sampler:
        subprocess.run([sys.executable, "-c", BUSY], check=True, timeout=30)
    wall_s = time.monotonic() - began
    assert sampler.other_cores([]) >= 0.4 / wall_s
    assert sampler.other_cores([1e6]) == 0.0


@pytest.mark.parametrize(
    ("waits_s", "share"),
    [
        ([], None),
        ([0.004] * 19 + [0.15], 0.0),
        ([0.004] * 19 + [0.9], 0.05),
        ([0.004] * 18 + [0.9, 0.6], 0.1),
        ([0.4, 0.5, 0.45, 0.55], 0.0),  # the disk is always slow
    ],
)
def test_a_disk_stalls_if_waits_are_much_longer_than_usual(waits_s: list[float], share: float | None) -> None:
    assert stall_share(waits_s) == (None if share is None else pytest.approx(share))


def test_the_kernel_counts_waits_for_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = tmp_path / "io"
    monkeypatch.setattr(resources, "PRESSURE", account)
    with ResourceSampler(dict, interval_s=60) as sampler:
        pass
    assert sampler.disk_stall_share() is None
    waited_us = iter(range(0, 10**9, 700_000))

    def heads() -> dict[str, list[int]]:  # called at each look, after the account was read
        some, full = "some avg10=0.00 avg60=0.00 avg300=0.00", "full avg10=0.00 avg60=0.00 avg300=0.00 total=1"
        account.write_text(f"{some} total={next(waited_us)}\n{full}\n", encoding="ascii")
        return {}

    heads()
    with ResourceSampler(heads, interval_s=0.05) as sampler:
        time.sleep(0.3)
    assert sampler.disk_stall_share() == 0.0  # the disk is always slow


def test_shared_memory_counts_only_on_request() -> None:
    with subprocess.Popen([sys.executable, "-c", SHARES], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"mapped\n"
        its = {"its": [process.pid]}
        before = memory_mb(its)["its"], memory_mb(its, shared=False)["its"]
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"used\n"
        after = memory_mb(its)["its"], memory_mb(its, shared=False)["its"]
        process.stdin.close()
    assert after[0] - before[0] > 30
    assert after[1] - before[1] < 8
