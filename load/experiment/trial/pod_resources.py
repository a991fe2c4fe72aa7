"""CPU time and memory of a cluster's components during a load, from the cluster's figures on its containers."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType

from experiment.trial.resources import Origin, Sample
from mesh.errors import MeshError
from mesh.kubernetes.cluster.machines import MachineTimes
from mesh.kubernetes.cluster.usage import Usage

Look = Sequence[Usage]
"""The newest figures of each container at one moment."""


class PodSampler:
    """Samples the containers until the block ends, and then until the figures cover the whole block.

    Figures that count since the previous look are most exact if the caller calls `look` when the load begins and when
    it ends. Otherwise a figure is a mean over both idle time and load.

    Args:
        interval_s: Seconds between two looks; figures that change less often are read more than once.
        settle_s: Maximum seconds to wait, after the block, for figures that cover its last moments.
        settling_s: Seconds between two looks during that wait, when looks no longer disturb anything.
    """

    def __init__(
        self,
        look: Callable[[], Look],
        machines: Callable[[], Mapping[str, MachineTimes]],
        source: str,
        *,
        interval_s: float = 5.0,
        settle_s: float = 45.0,
        settling_s: float = 2.0,
    ) -> None:
        self._ask = look
        self._machines = machines
        self._source = source
        self._interval_s = interval_s
        self._settle_s = settle_s
        self._settling_s = settling_s
        self._looks: list[Look] = []
        self._first: Mapping[str, MachineTimes] = {}
        self._last: Mapping[str, MachineTimes] = {}
        self._failure: MeshError | None = None
        self._stop = threading.Event()
        self._looking = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="pod-resources", daemon=True)

    def __enter__(self) -> PodSampler:
        self._first = self._machines()
        self.look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._last = self._machines()
                self._settle(max(times.at_ns for times in self._last.values()))
        finally:
            self._stop.set()
            self._thread.join(timeout=60)

    def look(self) -> None:
        """Reads the newest figures; if that fails, the figures at the next look cover the gap."""
        with self._looking:
            try:
                usages = self._ask()
            except MeshError as error:
                self._failure = error
                return
            self._failure = None
            if usages:
                self._looks.append(usages)

    def during(self, began_ns: int, ended_ns: int) -> PodResources:
        """Returns the resources used between two times (ns, nodes' clocks); raises MeshError without figures."""
        if self._failure is not None and (not self._looks or _at_ns(self._looks[-1]) < ended_ns):
            raise self._failure
        return PodResources(self._looks, (self._first, self._last), self._source, began_ns, ended_ns)

    def _settle(self, until_ns: int) -> None:
        limit = time.monotonic() + self._settle_s
        self.look()
        while not self._covers(until_ns) and time.monotonic() < limit:
            time.sleep(self._settling_s)
            self.look()

    def _covers(self, until_ns: int) -> bool:
        if not self._looks:
            return False
        # A container that has ended yields no new figures.
        began_ns = _at_ns(self._looks[0])
        ends = [usage.ended_ns for usage in self._looks[-1] if usage.ended_ns > began_ns]
        return bool(ends) and min(ends) >= until_ns

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            self.look()


class PodResources:
    """The resources that a load used; an implementation of `Resources`.

    A figure whose period begins before the load or ends after it counts by the share of the period within the load.
    Containers of one component, such as its replicas, are added up.

    Args:
        machines: CPU times of every node, before the load and after it.
    """

    def __init__(
        self,
        looks: Sequence[Look],
        machines: tuple[Mapping[str, MachineTimes], Mapping[str, MachineTimes]],
        source: str,
        began_ns: int,
        ended_ns: int,
    ) -> None:
        self._machines = machines
        self._source = source
        figures = {(usage.container, usage.ended_ns): usage for look in looks for usage in look}
        self._within = [usage for usage in figures.values() if usage.ended_ns > began_ns and usage.began_ns < ended_ns]
        self._began_ns, self._ended_ns = began_ns, ended_ns
        at_distinct_times = {_at_ns(look): look for look in looks}
        self.samples = [sample for look in at_distinct_times.values() for sample in self._samples_of(look)]

    @property
    def origin(self) -> Origin:
        """Source of the figures, and the longest time that a figure covers (0 without figures)."""
        lengths_s = ((usage.ended_ns - usage.began_ns) / 1e9 for usage in self._within)
        return Origin(self._source, max(lengths_s, default=0.0))

    def cpu_seconds(self) -> dict[str, float]:
        return self._cpu_until(self._ended_ns)

    def steal_share(self) -> float:
        total_s = self._of_machines(lambda times: times.total_s)
        return self._of_machines(lambda times: times.steal_s) / total_s if total_s > 0 else 0.0

    def other_cores(self, cpu_s: Iterable[float]) -> float:
        """Returns the mean over the nodes."""
        # The figures of all nodes end at the same time, apart from the time that requesting them takes.
        nodes_s = self._of_machines(lambda times: times.at_ns / 1e9)
        return max(0.0, self._of_machines(lambda times: times.busy_s) - sum(cpu_s)) / nodes_s if nodes_s > 0 else 0.0

    def other_programs(self) -> tuple[()]:
        """Returns an empty tuple: a pod cannot see the programs on its node."""
        return ()

    def disk_stall_share(self) -> None:
        """Returns None, because kubelets do not report waits for disks."""

    def machine_speed(self) -> None:
        """Returns None, because nothing measures the nodes' speed."""

    def _of_machines(self, figure: Callable[[MachineTimes], float]) -> float:
        first, last = self._machines
        return sum(figure(last[node]) - figure(first[node]) for node in last.keys() & first.keys())

    def _samples_of(self, look: Look) -> Iterable[Sample]:
        at_ns = _at_ns(look)
        if at_ns <= self._began_ns:
            return
        memory: dict[str, float] = defaultdict(float)
        count: dict[str, int] = defaultdict(int)
        for usage in look:
            memory[usage.component] += usage.memory_mb
            count[usage.component] += 1
        cpu_s = self._cpu_until(min(at_ns, self._ended_ns))
        for component, memory_mb in memory.items():
            yield Sample(at_ns, component, cpu_s.get(component, 0.0), memory_mb, count[component])

    def _cpu_until(self, end_ns: int) -> dict[str, float]:
        cpu_s: dict[str, float] = defaultdict(float)
        for usage in self._within:
            cpu_s[usage.component] += _cpu_within(usage, self._began_ns, end_ns)
        return dict(cpu_s)


def rename(usages: Iterable[Usage], names: Mapping[str, str]) -> list[Usage]:
    """Returns the figures with other names for some components."""
    return [replace(usage, component=names.get(usage.component, usage.component)) for usage in usages]


def _cpu_within(usage: Usage, began_ns: int, ended_ns: int) -> float:
    """Returns the CPU seconds used between two moments, assuming even use throughout the figure's period."""
    length_ns = usage.ended_ns - usage.began_ns
    overlap_ns = min(usage.ended_ns, ended_ns) - max(usage.began_ns, began_ns)
    return usage.cpu_s * max(0, overlap_ns) / length_ns if length_ns > 0 else 0.0


def _at_ns(look: Look) -> int:
    """Returns when the period of a look's newest figures ends, in nanoseconds."""
    return max(usage.ended_ns for usage in look)
