from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import plan_of
from hops.budget.parts import DELAY_TOOK, budgets_of
from hops.run.rows import hops_frame
from hops.traces.span import Kind, Span
from hops.units import NS_PER_MS
from mesh.description.topology import load_topology
from proofs.measurement.delays import InjectedDelay, delays_of
from proofs.measurement.what_if import PredictedFigure, judge, outcome, predictions_view, proof_plan
from synthetic.traces import BASE_NS, otlp_document

DELAY = InjectedDelay("product", 5.0)
ROW = PredictedFigure("product", 5.0, 5.1, "product", "p50", (900, 300), 10.0, 15.0, (14.0, 16.0), 15.5, 1.02)


def traces(count: int, seed: int, pause_ms: float = 0.0) -> list[list[Span]]:
    """Makes journeys of about 10 ms, with a request to the product service that pauses."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        trace_id, began = f"{seed:016x}{number:016x}", BASE_NS + number * 10**8
        ms = [3.0 * rng.uniform(0.8, 1.2), 7.0 * rng.uniform(0.8, 1.2) + pause_ms]
        middle, end = (began + round(upto * NS_PER_MS) for upto in (ms[0], sum(ms)))
        made.append(
            [
                Span(
                    trace_id, "1" * 16, "", "product", Kind.INTERNAL, "client", began, end, {"shop.journey": "product"}
                ),
                Span(trace_id, "2" * 16, "1" * 16, "Get", Kind.CLIENT, "client", began, end),
                Span(trace_id, "3" * 16, "2" * 16, "Get", Kind.SERVER, "product", middle, end, {DELAY_TOOK: pause_ms}),
            ]
        )
    return made


def run_folder(folder: Path, pause_ms: float, baseline: int = 900) -> Path:
    kept, slowed = traces(baseline, 1), traces(300, 2, pause_ms)
    file = folder / "trials" / "1-baseline" / "traces.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(json.dumps(otlp_document(spans)) for spans in kept))
    rows = hops_frame(budgets_of(slowed)[0]).with_columns(block=1, topology=pl.lit(DELAY.label))
    rows.write_parquet(folder / "hops.parquet")
    ids = [spans[0].trace_id for spans in (*kept, *slowed)]
    pl.DataFrame({"trace_id": ids, "outcome": "ok"}).write_parquet(folder / "journeys.parquet")
    return folder


def test_the_effect_of_a_delay_is_predicted(tmp_path: Path) -> None:
    rows = judge(run_folder(tmp_path, pause_ms=5.2), [DELAY])
    assert [(row.metric, row.holds, row.tells) for row in rows] == [("p50", True, True), ("p99", True, True)]
    assert rows[0].paused_ms == pytest.approx(5.2)
    assert rows[0].predicted_ms == pytest.approx(rows[0].before_ms + 5.2, abs=1e-5)
    assert outcome(rows)["holds"]


def test_an_unpredictable_effect_is_reported(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, pause_ms=5.2)
    hops = pl.read_parquet(folder / "hops.parquet")
    hops.with_columns(pl.col("ns") * 2).write_parquet(folder / "hops.parquet")
    rows = judge(folder, [DELAY])
    assert not any(row.holds for row in rows)
    assert not outcome(rows)["holds"]


def test_journeys_without_a_pause_reveal_the_machine_s_speed(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, pause_ms=5.2)
    assert {row.untouched for row in judge(folder, [DELAY])} == {None}
    hops = pl.read_parquet(folder / "hops.parquet")
    without = hops.with_columns(journey=pl.lit("login"), part=pl.lit("work:user"), topology=pl.lit("baseline-2"))
    slower = without.with_columns(pl.col("ns") * 1.25, topology=pl.lit(DELAY.label)).cast(hops.schema)
    named = [rows.with_columns(pl.col("trace_id") + mark) for rows, mark in ((without, "a"), (slower, "b"))]
    pl.concat([hops, *named]).write_parquet(folder / "hops.parquet")
    done = pl.concat([pl.DataFrame({"trace_id": rows["trace_id"].unique(), "outcome": "ok"}) for rows in named])
    journeys = pl.read_parquet(folder / "journeys.parquet")
    pl.concat([journeys, done.select(journeys.columns)]).write_parquet(folder / "journeys.parquet")
    rows = judge(folder, [DELAY])
    assert [row.untouched for row in rows] == [pytest.approx(1.25, rel=1e-6)] * 2
    # The pause takes 5.2 ms at any speed of the machine.
    assert [row.corrected_ms for row in rows] == [
        pytest.approx(5.2 + (row.measured_ms - 5.2) / 1.25, abs=1e-3) for row in rows
    ]
    assert not any(row.holds for row in rows), "these journeys were not slower by as much"
    assert "1.25" in str(predictions_view(rows))
    assert not replace(ROW, measured_ms=16.5, untouched=None).holds
    assert replace(ROW, measured_ms=16.5, untouched=1.1).holds


def test_figures_of_too_few_traces_are_left_out_and_missing_traces_are_reported(tmp_path: Path) -> None:
    assert [row.metric for row in judge(run_folder(tmp_path, 5.2, baseline=400), [DELAY])] == ["p50"]
    with pytest.raises(UsageError, match="too few traces of checkout"):
        judge(tmp_path, [InjectedDelay("payment", 5.0)])


def test_without_any_interval_more_blocks_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no figure has enough traces for an interval; give more blocks"):
        judge(run_folder(tmp_path, 5.2, baseline=1), [DELAY])


def test_intervals_that_include_the_figure_without_a_delay_prove_nothing() -> None:
    wide = replace(ROW, ci95=(1.0, 99.0))
    assert outcome([ROW] * 9 + [replace(ROW, measured_ms=20.0)])["holds"]
    assert not outcome([ROW] * 8 + [replace(ROW, measured_ms=20.0)] * 2)["holds"]
    assert not outcome([wide])["holds"]
    assert "proves nothing" in str(predictions_view([wide]))
    assert "proves nothing" not in str(predictions_view([ROW, wide]))


def test_only_trials_without_a_delay_keep_their_traces_also_after_resuming() -> None:
    plan = proof_plan([DELAY], load_topology("hybrid"), blocks=1, seed=1)
    again = plan_of(plan.as_document())
    assert [arm.keeps_traces for arm in again.arms] == [True, False]
    assert delays_of(again) == [DELAY]
