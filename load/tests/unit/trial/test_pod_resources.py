"""A load's resources are the sum of figures over periods of any length; periods that exceed the load count in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from experiment.trial.pod_resources import PodResources, PodSampler, rename
from experiment.trial.resources import Origin, peak_memory_mb, peak_memory_of_all_mb
from mesh.errors import ClusterError
from mesh.kubernetes.cluster.machines import MachineTimes
from mesh.kubernetes.cluster.usage import Usage

S = 10**9
NOON = 1_795_333_200 * S


def usage_of(container: str, began_s: float, ended_s: float, cpu_s: float, memory_mb: float = 10.0) -> Usage:
    """Makes figures of a container; its component is the name before the first hyphen."""
    began_ns, ended_ns = NOON + round(began_s * S), NOON + round(ended_s * S)
    return Usage(container.partition("-")[0], container, began_ns, ended_ns, cpu_s, memory_mb)


def during(looks: Sequence[Sequence[Usage]], began_s: float, ended_s: float) -> PodResources:
    none: dict[str, MachineTimes] = {}
    began_ns, ended_ns = NOON + round(began_s * S), NOON + round(ended_s * S)
    return PodResources(looks, (none, none), "metrics API", began_ns, ended_ns)


def test_figures_count_by_their_share_within_the_load() -> None:
    looks = [[usage_of("order-1", 0, 15, 3.0)], [usage_of("order-1", 15, 30, 6.0)], [usage_of("order-1", 30, 45, 1.5)]]
    resources = during(looks, 10, 40)
    assert resources.cpu_seconds() == {"order": pytest.approx(3.0 / 3 + 6.0 + 1.5 * 2 / 3)}
    assert resources.origin == Origin("metrics API", 15.0)
    assert during(looks, 0, 45).cpu_seconds() == {"order": pytest.approx(10.5)}


def test_repeated_figures_count_once() -> None:
    once = usage_of("order-1", 0, 15, 3.0)
    looks = [[once], [once], [once, usage_of("user-1", 5, 20, 1.0)]]
    assert during(looks, 0, 20).cpu_seconds() == {"order": 3.0, "user": 1.0}


def test_replicas_are_one_component() -> None:
    looks = [
        [
            usage_of("product-1", 0, 10, 1.0, 60.0),
            usage_of("product-2", 0, 10, 2.0, 50.0),
            usage_of("order-1", 0, 10, 1.0, 5.0),
        ],
        [usage_of("product-1", 10, 20, 1.0, 70.0), usage_of("order-1", 10, 20, 1.0, 100.0)],
    ]
    resources = during(looks, 0, 20)
    assert resources.cpu_seconds() == {"product": 4.0, "order": 2.0}
    assert peak_memory_mb(resources.samples) == {"product": 110.0, "order": 100.0}
    assert peak_memory_of_all_mb(resources.samples) == 170.0
    assert [(row.component, row.cpu_s, row.memory_mb, row.processes) for row in resources.samples] == [
        ("product", 3.0, 110.0, 2),
        ("order", 1.0, 5.0, 1),
        ("product", 4.0, 70.0, 1),
        ("order", 2.0, 100.0, 1),
    ]


def test_figures_from_before_the_load_make_no_row() -> None:
    looks = [[usage_of("order-1", 0, 0, 0.0, 900.0)], [usage_of("order-1", 0, 10, 5.0)]]
    resources = during(looks, 5, 10)
    assert [row.at_ns for row in resources.samples] == [NOON + 10 * S]
    assert peak_memory_mb(resources.samples) == {"order": 10.0}


def test_a_component_may_have_another_name_in_results() -> None:
    assert [usage.component for usage in rename([usage_of("load-0", 0, 1, 1.0)], {"load": "client"})] == ["client"]


def machines(at_s: float, busy_s: float, steal_s: float, nodes: int = 1) -> dict[str, MachineTimes]:
    times = MachineTimes(NOON + round(at_s * S), 100 + 4 * at_s, busy_s, steal_s)
    return {f"node{index}": times for index in range(nodes)}


def test_others_use_the_nodes_busy_time_beyond_the_run() -> None:
    resources = PodResources([], (machines(0, 50, 1), machines(20, 80, 5)), "kubelet", NOON, NOON + 20 * S)
    assert resources.other_cores([10.0, 15.0]) == pytest.approx(0.25)
    assert resources.other_cores([1000.0]) == 0.0
    assert resources.steal_share() == pytest.approx(4 / 80)
    two = PodResources([], (machines(0, 50, 1, 2), machines(20, 80, 5, 2)), "kubelet", NOON, NOON + 20 * S)
    assert two.other_cores([40.0]) == pytest.approx(0.5)


class Cluster:
    """A cluster whose figures grow by a second at each look, from 0; the looks in `failing` fail."""

    def __init__(self, failing: Sequence[int] = ()) -> None:
        self.looks = 0
        self._failing = failing

    def look(self) -> list[Usage]:
        self.looks += 1
        if self.looks - 1 in self._failing:
            raise ClusterError("the kubelet is away")
        gone = usage_of("job-1", -10, -5, 1.0)
        return [gone, usage_of("order-1", max(0, self.looks - 2), self.looks - 1, 0.5)]

    def machines(self) -> Iterator[dict[str, MachineTimes]]:
        yield machines(0, 0, 0)
        yield machines(4.5, 3, 0)


def sample(cluster: Cluster, *, settle_s: float = 30) -> PodSampler:
    times = cluster.machines()
    sampler = PodSampler(
        cluster.look, lambda: next(times), "kubelet", interval_s=60, settle_s=settle_s, settling_s=0.01
    )
    with sampler:
        sampler.look()
    return sampler


def test_the_sampler_stays_until_the_figures_cover_the_load() -> None:
    cluster = Cluster()
    resources = sample(cluster).during(NOON, NOON + round(4.5 * S))
    assert cluster.looks >= 6, "it looks until the container's figures end after 4.5 s"
    assert resources.cpu_seconds()["order"] == pytest.approx(0.5 * 4.5)


def test_the_next_look_makes_up_for_a_failed_look() -> None:
    resources = sample(Cluster(failing=[2])).during(NOON, NOON + 4 * S)
    assert resources.cpu_seconds()["order"] > 0


def test_a_cluster_that_stops_answering_is_an_error() -> None:
    with pytest.raises(ClusterError, match="the kubelet is away"):
        sample(Cluster(failing=range(1, 10**6)), settle_s=0.05).during(NOON, NOON + 4 * S)


def test_the_wait_for_missing_figures_ends() -> None:
    cluster = Cluster()
    times = iter([machines(0, 0, 0), machines(10**6, 0, 0)])
    with PodSampler(cluster.look, lambda: next(times), "kubelet", interval_s=60, settle_s=0.05, settling_s=0.01):
        pass
    assert cluster.looks > 0
