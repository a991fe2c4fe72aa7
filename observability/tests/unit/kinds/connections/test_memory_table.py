"""What a run with open connections says of memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hops.kinds import make_report
from hops.kinds.connections.document import Document, Held
from hops.kinds.connections.report import memory_table
from hops.run.documents import SCHEMA
from synthetic.run import plain_manifest


def held(block: int, connections: int, edge_mb: float, *, steady: bool = True) -> Held:
    return Held(
        block=block,
        topology="rest",
        connections=connections,
        dialed=connections,
        memory_mb={"edge": edge_mb, "product": 50.0},
        steady=steady,
    )


def document(*rows: Held) -> Document:
    return Document(
        schema=SCHEMA, name="night", manifest=plain_manifest("rest"), counts=[0, 100], blocks=2, held=list(rows)
    )


STEADY = [held(1, 0, 40.0), held(1, 100, 50.0), held(2, 0, 42.0), held(2, 100, 54.0)]


def test_each_component_and_all_together_are_means_over_blocks_paired_by_block() -> None:
    rows = {row[1].text: row[2:] for row in memory_table(document(*STEADY)).rows}
    assert [cell.value for cell in rows["edge"]] == pytest.approx([41.0, 52.0, 11 * 1024 / 100])
    assert [cell.value for cell in rows["all"]] == pytest.approx([91.0, 102.0, 11 * 1024 / 100])
    assert [cell.value for cell in rows["product"]] == pytest.approx([50.0, 50.0, 0.0])
    low, high = rows["edge"][0].ends or (None, None)
    assert low == pytest.approx(41 - 12.706, abs=0.01)  # Student's t of one degree of freedom, times 1
    assert high == pytest.approx(41 + 12.706, abs=0.01)


@pytest.mark.parametrize("steady", [True, False])
def test_memory_that_still_changes_makes_a_run_wrong(steady: bool, tmp_path: Path) -> None:
    rows = [*STEADY[:3], held(2, 100, 54.0, steady=steady)]
    (tmp_path / "connections.json").write_text(json.dumps(document(*rows)), encoding="utf-8")
    page, verdict = make_report(tmp_path)
    assert verdict == ("VALID" if steady else "WRONG")
    said = "rest at 100 connections in block 2: memory was still changing"
    assert (said in page.read_text(encoding="utf-8")) is not steady
