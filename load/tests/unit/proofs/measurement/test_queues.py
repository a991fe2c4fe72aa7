from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from experiment.plan.arms_in_blocks import plan_of
from hops.run.files import CALLS_FILE, HOPS_FILE
from mesh.description.topology import load_topology
from proofs.measurement.queues import COMPONENTS, SIZES_MS, FoundQueue, judge, proof_plan

MS = 1_000_000
PLAN = proof_plan(load_topology("hybrid"), blocks=2, seed=1)


def write_run(folder: Path, *, found: float = 1.0, part: str | None = None) -> Path:
    """Writes a run with a call 1 ms after the start of each hold; its span shows the share `found` of the wait."""
    calls, hops = [], []
    for block in (1, 2):
        for arm in PLAN.arms:
            for component, (ms, _) in arm.switches.hold.items():
                for number in range(8):
                    began, wait = number * 1_000 * MS, round((ms - 1) * MS)
                    held, other, third = (f"{arm.label}-{block}-{number}-{which}" for which in "abc")
                    label = (block, arm.label)
                    calls.append((*label, held, component, began, 0, 0, round(ms * MS)))
                    calls.append((*label, other, component, began + MS + wait, wait, round(wait * found), 0))
                    calls.append((*label, third, component, began + 500 * MS, 2 * MS, 0, 0))
                    hops.append((*label, other, part or f"queue:{component}", round(wait * found)))
                    hops.append((*label, third, "queue:user", 3 * MS))
    columns = ["block", "topology", "trace_id", "callee", "began_ns", "ahead_ns", "queued_ns", "injected_ns"]
    pl.DataFrame(calls, schema=columns, orient="row").write_parquet(folder / CALLS_FILE)
    pl.DataFrame(hops, schema=["block", "topology", "trace_id", "part", "ns"], orient="row").write_parquet(
        folder / HOPS_FILE
    )
    return folder


def test_waits_are_found_at_the_right_component(tmp_path: Path) -> None:
    rows = judge(write_run(tmp_path), PLAN)
    assert len(rows) == len(COMPONENTS) * len(SIZES_MS)
    assert [row.failed for row in rows] == [()] * len(rows)
    assert {row.waited for row in rows} == {16}
    assert [row.true_ms for row in rows] == pytest.approx([row.hold_ms - 1 for row in rows])


def failures(rows: list[FoundQueue], min_ms: float) -> set[str]:
    return {reason.partition(" is larger")[0] for row in rows for reason in row.failed if row.hold_ms >= min_ms}


def test_a_wait_of_another_size_or_at_another_component_is_not_found(tmp_path: Path) -> None:
    assert failures(judge(write_run(tmp_path, found=0.5), PLAN), 20) == {
        "the interval of the difference does not reach the truth"
    }
    assert failures(judge(write_run(tmp_path, part="queue:user"), PLAN), 5) == {"queue:user"}


def test_a_resumed_plan_gets_the_same_verdict(tmp_path: Path) -> None:
    again = plan_of(PLAN.as_document())
    assert judge(write_run(tmp_path), again) == judge(tmp_path, PLAN)
