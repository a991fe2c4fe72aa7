"""CPU time and memory of every component, sampled while a trial runs."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol

import psutil

from experiment.trial.machine_speed import MachineSpeed
from experiment.trial.programs import Programs
from hops.run.documents.trial import Program

CLIENT = "client"
"""Component name of the load generator."""
MEMORY_EVERY = 5
"""Memory is read only at every Nth look, because the kernel must walk all pages of a process to measure it."""
PRESSURE = Path("/proc/pressure/io")
"""The kernel's account of waits for disks: https://docs.kernel.org/accounting/psi.html."""
STALL_S = 0.2
"""The disk stalls between two looks if processes wait for it this many seconds longer than usual."""
Processes = Callable[[], Mapping[str, Sequence[int]]]
"""Component -> ids of the component's head processes, from which their children are found."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of a component.

    Attributes:
        at_ns: Time of the look, in nanoseconds of the Unix epoch.
        cpu_s: CPU seconds (user and system) used since the first look, or since the component's start if that is later.
        memory_mb: Resident memory in MiB at the last look that read memory; pages that processes share are counted once
            (proportional set size).
    """

    at_ns: int
    component: str
    cpu_s: float
    memory_mb: float
    processes: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of figures that do not come from this machine's kernel.

    Attributes:
        source: Name of the source: `kubelet` or `metrics API`.
        resolution_s: Seconds over which the coarsest CPU figure is a mean.
    """

    source: str
    resolution_s: float


class Resources(Protocol):
    """The resources that a load used."""

    @property
    def samples(self) -> Sequence[Sample]:
        """All samples, of every component."""

    @property
    def origin(self) -> Origin | None:
        """Source of the figures; None for this machine's kernel."""

    def cpu_seconds(self) -> Mapping[str, float]:
        """Returns the CPU seconds that each component used."""

    def steal_share(self) -> float:
        """Returns the share of CPU time that the machines' hosts took away during the load, 0 to 1."""

    def other_cores(self, cpu_s: Iterable[float]) -> float:
        """Returns how many cores programs outside the run used during the load, this program included.

        Args:
            cpu_s: CPU seconds of each component of the run.
        """

    def other_programs(self) -> Sequence[Program]:
        """Returns the busiest programs outside the run, without this program; empty if they cannot be seen."""

    def disk_stall_share(self) -> float | None:
        """Returns the share of intervals between looks in which the disk stalled, 0 to 1; None if unknown."""

    def machine_speed(self) -> float | None:
        """Returns the machine's mean speed during the load (`MachineSpeed`); None if the load was on other machines."""


def peak_memory_mb(samples: Iterable[Sample]) -> dict[str, float]:
    """Returns each component's largest sampled memory, in MiB."""
    peaks: dict[str, float] = {}
    for sample in samples:
        peaks[sample.component] = max(peaks.get(sample.component, 0.0), sample.memory_mb)
    return peaks


def peak_memory_of_all_mb(samples: Iterable[Sample]) -> float:
    """Returns the largest total memory of all components at any one look, in MiB."""
    sums: dict[int, float] = {}
    for sample in samples:
        sums[sample.at_ns] = sums.get(sample.at_ns, 0.0) + sample.memory_mb
    return max(sums.values(), default=0.0)


def memory_mb(heads: Mapping[str, Sequence[int]], *, shared: bool = True) -> dict[str, float]:
    """Returns the memory of each component now, in MiB, as in `Sample`.

    Args:
        shared: Whether shared memory counts. PostgreSQL reserves all its buffers, and pages count once they are used.
    """
    found: dict[str, float] = {}
    for component, family in _families(heads).items():
        found[component] = 0.0
        for process in family:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                found[component] += _memory_bytes(process, shared=shared) / 2**20
    return found


def stall_share(waits_s: Sequence[float]) -> float | None:
    """Returns the share of intervals between looks in which the disk stalled, 0 to 1; constant slowness is no stall."""
    if not waits_s:
        return None
    limit_s = statistics.median(waits_s) + STALL_S
    return statistics.fmean(wait_s > limit_s for wait_s in waits_s)


class ResourceSampler:
    """Samples the components until the block ends; then `samples` has every sample.

    Args:
        processes: Returns the components' process ids; called at each look, because components may restart.
    """

    origin: Origin | None = None

    def __init__(self, processes: Processes, interval_s: float = 1.0) -> None:
        self.samples: list[Sample] = []
        self._processes = processes
        self._interval_s = interval_s
        self._looks = 0
        self._memory_mb: dict[str, float] = {}
        self._cpu_by_pid: dict[str, dict[tuple[int, float], float]] = {}
        self._cpu_at_start: dict[str, float] = {}
        self._machine = (_machine(), _machine())
        self._programs = Programs()
        self._others: list[Program] = []
        self._waited_s: float | None = None
        self._disk_waits_s: list[float] = []
        self._speed = MachineSpeed()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="resources", daemon=True)

    def __enter__(self) -> ResourceSampler:
        self._machine = (_machine(), _machine())
        self._look()
        self._programs = Programs()
        self._thread.start()
        self._speed.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._speed.__exit__(kind, error, trace)
        self._stop.set()
        self._thread.join(timeout=10)
        self._look(memory=True)
        self._machine = (self._machine[0], _machine())
        self._others = self._programs.name_busy({pid for of in self._cpu_by_pid.values() for pid, _ in of})

    def cpu_seconds(self) -> dict[str, float]:
        return {sample.component: sample.cpu_s for sample in self.samples}

    def steal_share(self) -> float:
        first, last = self._machine
        total_s = last.total_s - first.total_s
        return (last.steal_s - first.steal_s) / total_s if total_s > 0 else 0.0

    def other_cores(self, cpu_s: Iterable[float]) -> float:
        first, last = self._machine
        wall_s = last.at_s - first.at_s
        return max(0.0, last.busy_s - first.busy_s - sum(cpu_s)) / wall_s if wall_s > 0 else 0.0

    def other_programs(self) -> Sequence[Program]:
        return self._others

    def disk_stall_share(self) -> float | None:
        return stall_share(self._disk_waits_s)

    def machine_speed(self) -> float:
        return self._speed.mean

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            self._look(memory=self._looks % MEMORY_EVERY == 0)

    def _look(self, *, memory: bool = True) -> None:
        at_ns = time.time_ns()
        self._looks += 1
        self._look_at_disk()
        for component, family in _families(self._processes()).items():
            reads, memory_b = memory or component not in self._memory_mb, 0
            alive = 0
            cpu = self._cpu_by_pid.setdefault(component, {})
            for process in family:
                try:
                    with process.oneshot():
                        times = process.cpu_times()
                        memory_b += _memory_bytes(process) if reads else 0
                        cpu[(process.pid, process.create_time())] = times.user + times.system
                        alive += 1
                except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                    continue  # the process has ended since it was listed; its last figure stays
            used = sum(cpu.values())
            # A component that starts after the first look counts its CPU from its start.
            used -= self._cpu_at_start.setdefault(component, used if self._looks == 1 else 0.0)
            if reads:
                self._memory_mb[component] = memory_b / 2**20
            self.samples.append(Sample(at_ns, component, used, self._memory_mb[component], alive))

    def _look_at_disk(self) -> None:
        before_s, self._waited_s = self._waited_s, _read_disk_wait_s()
        if before_s is not None and self._waited_s is not None:
            self._disk_waits_s.append(self._waited_s - before_s)


def _read_disk_wait_s() -> float | None:
    """Reads how long tasks on this machine have waited for a disk, in seconds; None if the kernel does not say."""
    try:
        some = PRESSURE.read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


@dataclass(frozen=True, slots=True)
class _Machine:
    """The machine's CPU seconds so far: in total, at work, and taken away by its host."""

    at_s: float
    total_s: float
    busy_s: float
    steal_s: float


def _machine() -> _Machine:
    times = psutil.cpu_times()
    busy_s = sum(float(getattr(times, name, 0.0)) for name in ("user", "nice", "system", "irq", "softirq"))
    return _Machine(
        at_s=time.monotonic(), total_s=sum(times), busy_s=busy_s, steal_s=float(getattr(times, "steal", 0.0))
    )


class OtherWork:
    """Counts the CPU time of all processes except this process and its children, while processes come and go.

    Args:
        heads: Returns the process ids of daemons that belong to the run and are not children of this process.
    """

    def __init__(self, heads: Callable[[], Iterable[int]] = tuple) -> None:
        self._heads = heads
        self._machine, self._own_s = _machine(), self._own_cpu_s()

    @property
    def cores(self) -> float:
        """How many cores other programs have used since the start, on average."""
        now = _machine()
        others_s = now.busy_s - self._machine.busy_s - (self._own_cpu_s() - self._own_s)
        return max(0.0, others_s) / max(now.at_s - self._machine.at_s, 1e-3)

    def _own_cpu_s(self) -> float:
        this, used_s = psutil.Process(), 0.0
        pids = {this.pid, *self._heads(), *(child.pid for child in this.children(recursive=True))}
        for pid in pids:
            with suppress(psutil.Error):  # the process has just ended, and its time counts with its parent
                used_s += sum(psutil.Process(pid).cpu_times()[:4])  # children that have ended count with their parent
        return used_s


def _families(heads: Mapping[str, Sequence[int]]) -> dict[str, list[psutil.Process]]:
    """Finds each component's processes (its heads and their children) in one pass over all processes."""
    there: dict[int, psutil.Process] = {}
    children: dict[int, list[int]] = {}
    for process in psutil.process_iter():
        try:
            children.setdefault(process.ppid(), []).append(process.pid)
        except psutil.NoSuchProcess:
            continue
        there[process.pid] = process
    return {
        component: [there[pid] for pid in _below(pids, children) if pid in there] for component, pids in heads.items()
    }


def _below(heads: Sequence[int], children: Mapping[int, Sequence[int]]) -> list[int]:
    pids: dict[int, None] = {}
    left = list(heads)
    while left:
        pid = left.pop()
        if pid not in pids:
            pids[pid] = None
            left += children.get(pid, ())
    return list(pids)


def _memory_bytes(process: psutil.Process, *, shared: bool = True) -> int:
    # PostgreSQL's processes share their buffers; a sum of their RSS would count the buffers once for each process.
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as rollup:
            kib = {line.split(":")[0]: int(line.split()[1]) for line in rollup if line.startswith("Pss")}
        return (kib["Pss"] - (0 if shared else kib.get("Pss_Shmem", 0))) * 1024
    except (OSError, KeyError):  # a process that is ending may lack the figure
        return int(process.memory_info().rss)
