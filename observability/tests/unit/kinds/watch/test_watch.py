"""What a run with waiting customers shows about lateness and cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from hops.gates.verdict import failing_gates
from hops.kinds import analyse
from hops.kinds.watch.analysis import NOBODY
from hops.kinds.watch.choice import choice_elements, choices
from hops.kinds.watch.document import KIND, Asked, Waited, Watched, watched_of
from hops.kinds.watch.tables import budget_table, conclusions, cost_table, lateness_table
from hops.run.files import MANIFEST, TRIALS, read_run
from hops.run.rows import HOPS, WATCHED, write_parquet
from synthetic.run import Arm, write_generated_run

from ...report.pages import edited


def watchers_of(block: int, way: str, watchers: int, cpu_s: float, **more: Any) -> Waited:
    """Makes a load of 30 seconds, which takes 100 MiB without watchers, and 1 MiB more for each watcher."""
    given = {
        "protocol": "grpc" if watchers else "", "journeys": 600, "failed": 0, "updates": 200 if watchers else 0,
        "missed": 0, "repeated": 0, "reconnects": 0, "longest_reconnect_s": 0.0,
        "lateness_ms": {"p50": 8.0, "p90": 20.0, "p99": 40.0} if watchers else {}, "opened_s": 0.5, "open_s": 32.0,
        "seconds": 30.0, "cpu_s": {"order": cpu_s}, "memory_mb": {"order": 100.0 + watchers}, "bytes": 1_024 * watchers,
        "budget_ms": {"outbox:order": 3.0, "push": 5.0} if watchers else {}, "traced": 40 if watchers else 0,
        "untraced": 0, "off_ns": 0,
    }  # fmt: skip
    place = {"block": block, "topology": "grpc", "way": way, "watchers": watchers}
    return cast("Waited", {**place, **given, **more})


def document(*rows: Waited) -> Watched:
    return Watched(
        topologies=["grpc"], ways=["push", "poll"], counts=[0, 100], blocks=2, interval_s=5.0, waited=list(rows)
    )


SOUND = [
    watchers_of(block, way, watchers, 6.0 + watchers * cpu_s)
    for block in (1, 2)
    for way, cpu_s in (("push", 0.003), ("poll", 0.06))
    for watchers in (0, 100)
]


def test_cost_is_what_is_needed_beyond_the_load_for_a_thousand() -> None:
    rows = {row[1].text: row[3:] for row in cost_table(document(*SOUND)).rows}
    cores, memory, carried, _ = (cell.value for cell in rows["grpc stream"])
    assert cores == pytest.approx(0.003 / 30 * 1_000)
    assert memory == pytest.approx(1_000.0)
    assert carried == pytest.approx(3_600 / 32)
    assert rows["grpc polling"][0].value == pytest.approx(0.06 / 30 * 1_000)


def test_lateness_and_counts_are_over_blocks() -> None:
    rows = {row[1].text: row[2:] for row in lateness_table(document(*SOUND)).rows}
    assert [cell.value for cell in rows["grpc stream"]] == pytest.approx([100, 400, 0, 0, 8.0, 20.0, 40.0])


def test_budgets_add_up() -> None:
    rows = budget_table(document(*SOUND)).rows
    assert [row[1].text for row in rows] == ["push", "outbox:order", "adds up to"]
    assert [row[3].value for row in rows] == pytest.approx([5.0, 3.0, 8.0])


def test_the_interval_at_which_polling_costs_what_a_stream_does() -> None:
    [said] = conclusions(document(*SOUND))
    assert "streams take 0.100: polling would take as little at an interval of about 100 s." in said


def test_a_cost_that_may_be_zero_is_no_divisor() -> None:
    rows = [{**one, "cpu_s": {"order": 6.0 + one["block"] * one["watchers"] / 1_000}} for one in SOUND]
    [said] = conclusions(document(*rows))
    assert said.endswith(", which this run cannot distinguish from 0.")


def test_a_single_block_tests_no_cost() -> None:
    [said] = conclusions(document(*(one for one in SOUND if one["block"] == 1)))
    assert said.endswith("; the difference was not tested: needs 2 blocks, and there is 1.")


def test_more_watchers_than_the_shop_holds_are_reported_and_not_compared() -> None:
    rows = [{**one, "failed": 60, "missed": 3} if one["way"] == "poll" and one["watchers"] else one for one in SOUND]
    [said] = conclusions(document(*rows))
    assert said == "In grpc, 100 customers who poll every 5 s are more than it holds: 10 % of journeys failed."


def test_the_cheapest_way_that_is_in_time_is_recommended() -> None:
    # Streams cost 0.1 cores for a thousand watchers; polling costs 2 cores at 5 s, and so 0.1 at 100 s.
    night = document(*[{**one, "lateness_ms": {"p99": 5_200.0}} if one["way"] == "poll" else one for one in SOUND])
    soon, late = choices(night, 50, 1.0), choices(night, 50, 601.0)
    assert [(one.way, one.interval_s) for one in soon] == [("grpc stream", 0.0)]
    assert (soon[0].cores, soon[0].late_ms) == pytest.approx((0.005, 40.0))
    assert [(one.way, one.interval_s) for one in late] == [("grpc polling", 600.0), ("grpc stream", 0.0)]
    assert late[0].cores == pytest.approx(0.1 * 5 / 600)
    assert late[0].late_ms == pytest.approx(600_250.0)
    assert choices(night, 50, 0.03) == []
    ((nothing,),) = (element.items for element in choice_elements(night, 50, 0.03))
    said = "None of the ways that were measured tells 50 customers within 30 ms at p99; the soonest is 40.0 ms late."
    assert nothing == said


def test_polling_more_often_than_measured_is_not_recommended() -> None:
    # At 5 s, a change waits 4.95 s at p99 for the next poll, so an answer takes 40 ms.
    night = document(*[{**one, "lateness_ms": {"p99": 4_990.0}} if one["way"] == "poll" else one for one in SOUND])
    assert [one.way for one in choices(night, 100, 1.0)] == ["grpc stream"]
    assert [one.way for one in choices(night, 100, 5.0)] == ["grpc stream"]
    polling = next(one for one in choices(night, 100, 5.1) if one.interval_s)
    assert (polling.interval_s, polling.late_ms) == (5.0, pytest.approx(5_040.0))


def test_tied_ways_are_named_where_memory_decides() -> None:
    def stream(topology: str, cpu_s: float, memory_mb: float) -> list[Waited]:
        waits = watchers_of(1, "push", 100, cpu_s, topology=topology, memory_mb={"order": memory_mb})
        return [watchers_of(1, "push", 0, 6.0, topology=topology), waits]

    # With a single block, up to 0.05 cores more than the minimum count as a tie: 1.5 s of CPU in 30 s.
    night = document(*stream("least", 6.0, 150.0), *stream("lean", 7.2, 110.0), *stream("middle", 7.4, 130.0))
    night["topologies"] = ["least", "lean", "middle"]
    assert [one.topology for one in choices(night, 100, 1.0)] == ["lean", "middle", "least"]
    _, said = choice_elements(night, 100, 1.0)
    assert "cannot tell its CPU from that of middle (grpc stream), least (grpc stream); memory decided" in str(said)
    # A way that is tied with the best way, but not with the cheapest, is not in the tie.
    further = document(*night["waited"], *stream("further", 8.0, 105.0))
    further["topologies"] = [*night["topologies"], "further"]
    assert [one.topology for one in choices(further, 100, 1.0)][-1] == "further"
    assert "further" not in str(choice_elements(further, 100, 1.0)[1])


def test_a_way_that_failed_is_not_recommended() -> None:
    rows = [{**one, "failed": 1} if one["way"] == "push" and one["watchers"] else one for one in SOUND]
    assert [one.way for one in choices(document(*rows), 100, 10.0)] == ["grpc polling"]


ARMS = {"grpc": ("", 0), "grpc-push-100": ("push", 100)}
SEEN = (1, 1, 0, 8_000_000, False, False, "a" * 32, True, 0)


def write_run(folder: Path, *more: tuple[object, ...]) -> Path:
    """Writes a run with one traced update, 8 ms late, and more rows of updates."""
    arms = [Arm(label, "grpc") for label in ARMS]
    write_generated_run(folder, blocks=1, journeys_per_trial=420, kind=KIND, arms=arms)
    labels = {"block": pl.Int32(), "topology": pl.String()}
    rows = [(1, "grpc-push-100", *row) for row in (SEEN, *more)]
    write_parquet(pl.DataFrame(rows, schema={**labels, **WATCHED}, orient="row"), folder / "updates.parquet")
    hop = (1, "grpc-push-100", "a" * 32, "update", "web", "push", 8_000_000, 1, 1, 0)
    write_parquet(pl.DataFrame([hop], schema={**labels, **HOPS}, orient="row"), folder / "update_hops.parquet")
    with edited(folder / MANIFEST) as manifest:
        manifest[KIND] = {
            label: Asked(topology="grpc", way=way, watchers=count, interval_s=5.0)
            for label, (way, count) in ARMS.items()
        }
    with edited(folder / TRIALS) as trials:
        for trial in trials["trials"]:
            trial["generator"] |= {"wall_s": 10.0, "watchers": {**NOBODY, "protocol": "grpc", "open_s": 10.0}}
    return folder


def test_without_traces_nothing_is_said_of_them(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path))
    updates, hops = (
        run.observed["updates"].with_columns(trace_id=pl.lit(""), traced=pl.lit(value=False)),
        run.observed["update_hops"],
    )
    summary = analyse(replace(run, observed={"updates": updates, "update_hops": hops.clear()}), name="night")
    assert {row["name"] for row in summary["gates_left_out"]} >= {"updates_untraced_share", "updates_gap_ns"}


@pytest.mark.parametrize(
    ("row", "failing"),
    [
        ((), []),
        ((1, 2, 0, 0, False, True, "", False, 0), ["updates_missed"]),
        ((1, 1, 0, 9_000_000, True, False, "", False, 0), ["updates_repeated"]),
        ((1, 2, 0, 9_000_000, False, False, "b" * 32, True, 1), ["updates_gap_ns"]),
        ((1, 2, 0, 9_000_000, False, False, "b" * 32, False, 0), ["updates_untraced_share"]),
    ],
)
def test_updates_decide_the_verdict(row: tuple[object, ...], failing: list[str], tmp_path: Path) -> None:
    summary = analyse(read_run(write_run(tmp_path, *([row] if row else []))), name="night")
    assert summary["verdict"] == ("WRONG" if failing else "VALID")
    assert failing_gates(summary["gates"]) == failing
    watched = watched_of(summary)["waited"][1]
    assert watched["lateness_ms"]["p50"] >= 8.0
    assert watched["budget_ms"] == {"push": 8.0}
