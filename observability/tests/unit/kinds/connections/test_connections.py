"""What the rows of a run with open connections show about memory."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from hops.kinds import analyse, make_report
from hops.kinds.connections.memory import KIND, connections_of, is_steady
from hops.kinds.connections.tables import memory_table
from hops.run.documents.gate import VALID, WRONG
from hops.run.files import read_run
from hops.run.rows import LOOKS, write_parquet
from synthetic.run import Arm, write_generated_run

EDGE_MB = {(1, 0): 40.0, (1, 100): 50.0, (2, 0): 42.0, (2, 100): 54.0}
"""Memory of the edge, by block and number of connections."""


def write_run(folder: Path, last_mb: float = 0.0) -> Path:
    """Writes a run whose last sample at 100 connections in block 2 has this much more memory."""
    rows = []
    for (block, held), edge_mb in EDGE_MB.items():
        for look in range(5):
            more_mb = last_mb if (block, held, look) == (2, 100, 4) else 0.0
            for component, memory_mb in (("edge", edge_mb + more_mb), ("product", 50.0)):
                rows.append((block, "rest", held + look, held, component, memory_mb, 9, 3, held, 40.0))
    schema = {"block": pl.Int32(), "topology": pl.String(), **LOOKS}
    write_generated_run(folder, blocks=2, journeys_per_trial=420, kind=KIND, arms=[Arm("rest", "rest")])
    write_parquet(pl.DataFrame(rows, schema=schema, orient="row"), folder / "looks.parquet")
    return folder


def test_each_component_and_all_together_are_means_over_blocks_paired_by_block(tmp_path: Path) -> None:
    summary = analyse(read_run(write_run(tmp_path)), name="night")
    rows = {row[1].text: row[2:] for row in memory_table(connections_of(summary)).rows}
    assert [cell.value for cell in rows["edge"]] == pytest.approx([41.0, 52.0, 11 * 1024 / 100])
    assert [cell.value for cell in rows["all"]] == pytest.approx([91.0, 102.0, 11 * 1024 / 100])
    assert [cell.value for cell in rows["product"]] == pytest.approx([50.0, 50.0, 0.0])
    low, high = rows["edge"][0].ends or (None, None)
    assert low == pytest.approx(41 - 12.706, abs=0.01)  # Student's t with one degree of freedom, times 1
    assert high == pytest.approx(41 + 12.706, abs=0.01)


@pytest.mark.parametrize(("last_mb", "verdict"), [(0.0, VALID), (2.0, WRONG)])
def test_memory_that_still_changes_makes_a_run_wrong(last_mb: float, verdict: str, tmp_path: Path) -> None:
    page, found = make_report(write_run(tmp_path, last_mb))
    assert found == verdict
    ids = re.findall(r' id="([^"]*)"', page.read_text(encoding="utf-8"))
    assert len(ids) == len(set(ids))
    said = "rest at 100 connections in block 2: memory was still changing"
    assert (said in page.read_text(encoding="utf-8")) is (verdict == WRONG)


@pytest.mark.parametrize(
    ("totals_mb", "steady"),
    [([100.0] * 4, True), ([90.0, *[100.0] * 4], True), ([100.0] * 3, False), ([100, 100, 100, 9], False)],
)
def test_memory_is_steady_after_three_samples_without_a_change(totals_mb: list[float], steady: bool) -> None:
    assert is_steady(totals_mb) is steady
