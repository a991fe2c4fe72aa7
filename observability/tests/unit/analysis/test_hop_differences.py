"""Why means differ: parts add up, and the right part is found."""

from __future__ import annotations

import polars as pl
import pytest

from hops.analysis.hop_differences import hop_differences
from hops.analysis.summary import blocks_of, load_of
from hops.budget.groups import GROUPS, group_of


@pytest.fixture(scope="module")
def found(run):
    hops = {name: run.hops.filter(pl.col("topology") == name) for name in run.topologies}
    return hop_differences(hops, load_of(run), blocks_of(run))


def test_parts_and_groups_add_up_to_the_whole(found):
    for row in found:
        for split_up in (row["parts"], row["groups"]):
            assert sum(part["difference_ms"] for part in split_up) == pytest.approx(row["difference_ms"], abs=1e-9)
        differences = [part["left_ms"] - part["right_ms"] for part in row["parts"]]
        assert sum(differences) == pytest.approx(row["difference_ms"], abs=1e-9)
        assert differences == sorted(differences, key=abs, reverse=True)


def test_groups_are_the_sums_of_their_parts_in_order(found):
    for row in found:
        names = [group["part"] for group in row["groups"]]
        assert names == [name for name in GROUPS if name in names]
        for group in row["groups"]:
            inside = [part["difference_ms"] for part in row["parts"] if group_of(part["part"]) == group["part"]]
            assert group["difference_ms"] == pytest.approx(sum(inside), abs=1e-9)


def test_an_injected_delay_is_found_where_it_is(found):
    row = next(row for row in found if (row["left"], row["right"], row["journey"]) == ("plain", "slow", "order_status"))
    largest = row["parts"][0]
    assert largest["part"] == "work:payment"
    assert largest["ci95"][0] < -2 < largest["ci95"][1] < 0
    others = [part for part in row["parts"][1:] if abs(part["difference_ms"]) > 0.5]
    assert others == []


def test_the_whole_is_the_difference_of_the_traced_means(run, found):
    traced = run.hops.group_by("topology", "journey", "trace_id").agg(pl.col("ns").sum())
    means = {(t, j): ns / 1e6 for t, j, ns in traced.group_by("topology", "journey").agg(pl.col("ns").mean()).rows()}
    for row in found:
        if row["journey"] != "all":
            expected = means[row["left"], row["journey"]] - means[row["right"], row["journey"]]
            assert row["difference_ms"] == pytest.approx(expected)


def rows_of(counts, ns):
    return pl.DataFrame(
        [
            (block, f"{block}-{journey}-{n}", journey, "web", "work:order", ns[journey], 1)
            for block in (1, 2, 3)
            for journey, count in counts.items()
            for n in range(count)
        ],
        schema=["block", "trace_id", "journey", "channel", "part", "ns", "crossings"],
        orient="row",
    )


NS = {"browse": 2_000_000, "login": 30_000_000}
LOAD = {"browse": 300, "login": 100}
BLOCKS = {"a": {1, 2, 3}, "b": {1, 2, 3}}


def test_a_chance_difference_of_the_traced_mix_is_no_difference():
    hops = {"a": rows_of({"browse": 20, "login": 5}, NS), "b": rows_of({"browse": 10, "login": 15}, NS)}
    everything = hop_differences(hops, LOAD, BLOCKS)[0]
    assert (everything["journey"], everything["traces"]) == ("all", [75, 75])
    assert everything["difference_ms"] == 0
    assert everything["parts"][0]["left_ms"] == pytest.approx(0.75 * 2 + 0.25 * 30)


def test_a_journey_without_traces_on_one_side_is_left_out():
    hops = {"a": rows_of({"browse": 20, "login": 5}, NS), "b": rows_of({"browse": 10}, NS)}
    found = hop_differences(hops, LOAD, BLOCKS)
    assert [row["journey"] for row in found] == ["all", "browse"]
    assert found[0]["traces"] == [60, 30]
    none = {"a": rows_of({"browse": 20}, NS), "b": rows_of({}, NS).cast({"block": pl.Int32})}
    assert hop_differences(none, LOAD, BLOCKS) == []


def test_few_traces_or_blocks_have_no_interval():
    few = {name: rows_of({"browse": 4}, NS) for name in "ab"}
    assert hop_differences(few, LOAD, BLOCKS)[0]["ci95"] == [None, None]
    enough = {name: rows_of({"browse": 5}, NS) for name in "ab"}
    assert hop_differences(enough, LOAD, BLOCKS)[0]["ci95"] == [0, 0]
    assert hop_differences(enough, LOAD, {"a": {1, 2, 3}, "b": {1, 2}})[0]["ci95"] == [None, None]
    assert hop_differences(enough, LOAD, {"a": {1}, "b": {2}}) == []
