"""Whether the generator was the bottleneck is decided for each load node."""

from __future__ import annotations

import pytest

from experiment.generator.figures import busiest_cores, by_node, late_customers

ALONE = {"cpu_s": 3.0, "wall_s": 10.0}
SHARED = {"cpu_s": 9.0, "wall_s": 10.0, "shards": [ALONE, {"cpu_s": 6.0, "wall_s": 8.0}]}


def test_one_generator_is_its_only_node() -> None:
    assert by_node(ALONE) == [ALONE]
    assert busiest_cores(ALONE) == pytest.approx(0.3)


def test_the_busiest_of_several_nodes_counts() -> None:
    assert len(by_node(SHARED)) == 2
    assert busiest_cores(SHARED) == pytest.approx(0.75)


def test_customers_are_late_only_on_a_warm_visit() -> None:
    network = {"visit": "warm", "customers": 40, "late": 3}
    assert late_customers({**ALONE, "network": network}) == 3
    assert late_customers({**ALONE, "network": {**network, "visit": "first"}}) is None
    assert late_customers(ALONE) is None
