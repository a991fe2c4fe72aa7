"""What usually runs while calls wait for a busy component.

One block of 100 ms; times in ms. A `product` usually takes 55, a `bulk_lines` 60:

    bulk_lines   0 ------------------ 60
    product          20 ----------------------- 80     waits for `gateway` from 30 to 70
    product                        50 ---------------- 100, untraced
"""

from __future__ import annotations

import polars as pl
import pytest

from hops.analysis.meetings import queues_of

START_NS = 1_700_000_000_000_000_000


def journeys(*rows):
    columns = ("journey", "started_ns", "ended_ns", "trace_id")
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    at = ((pl.col(name) * 1_000_000 + START_NS).alias(name) for name in ("started_ns", "ended_ns"))
    return frame.with_columns(
        *at,
        pl.lit(1).alias("block"),
        intended_ns=pl.col("started_ns") * 1_000_000 + START_NS,
        outcome=pl.lit("ok"),
        sampled=pl.col("trace_id").is_not_null(),
        latency_ns=(pl.col("ended_ns") - pl.col("started_ns")) * 1_000_000,
    )


ROWS = journeys(("bulk_lines", 0, 60, "a"), ("product", 20, 80, "b"), ("product", 50, 100, None))


def call(journey, trace_id, began, queued):
    return {
        "block": 1, "topology": "graphql", "trace_id": trace_id, "journey": journey, "callee": "gateway",
        "began_ns": None if began is None else START_NS + began * 1_000_000,
        "queued_ns": None if queued is None else queued * 1_000_000,
    }  # fmt: skip


def find_queues(*calls):
    return {row["met"]: row for row in queues_of({"graphql": ROWS}, pl.DataFrame(calls))}


def test_a_wait_is_split_by_what_usually_runs_and_own_journeys_do_not_count():
    rows = find_queues(call("product", "b", 70, 40), call("bulk_lines", "a", 5, 0))
    assert list(rows) == ["all", "bulk_lines", "product"]
    assert rows["all"]["mean_ms"] == pytest.approx(40 / 2)
    assert rows["bulk_lines"]["mean_ms"] == pytest.approx(30 / 2)
    assert rows["product"]["mean_ms"] == pytest.approx(20 / 2)
    assert [row["share"] for row in rows.values()] == pytest.approx([1.0, 0.6, 0.8])
    assert {row["component"] for row in rows.values()} == {"gateway"}


def test_a_few_slow_journeys_are_no_tail():
    assert find_queues(call("product", "b", 70, 40))["all"]["beyond_p99_ms"] is None


def test_the_tail_has_its_own_waits():
    many = [("product", at, at + (50 if at % 50 == 0 else 1), str(at)) for at in range(0, 2000)]
    rows = journeys(*many)
    calls = [call("product", str(at), at + 41, 40) for at in range(0, 2000, 50)]
    row = queues_of({"graphql": rows}, pl.DataFrame(calls))[0]
    assert row["mean_ms"] == pytest.approx(40 * 40 / 2000)
    assert (row["beyond_p99"], row["beyond_p99_ms"]) == (0, None)
    slower = rows.with_columns(latency_ns=pl.col("latency_ns") + pl.int_range(pl.len()))
    row = queues_of({"graphql": slower}, pl.DataFrame(calls))[0]
    assert (row["beyond_p99"], row["beyond_p99_ms"]) == (20, pytest.approx(40))


@pytest.mark.parametrize("calls", [[], [call("product", "b", 70, 0)], [call("product", "b", None, None)]])
def test_calls_that_did_not_wait_or_tell_no_times_say_nothing(calls):
    frame = pl.DataFrame(calls, schema_overrides={"began_ns": pl.Int64, "queued_ns": pl.Int64})
    if not calls:
        frame = pl.DataFrame([call("product", "b", 70, 1)]).clear()
    assert queues_of({"graphql": ROWS}, frame) == []
