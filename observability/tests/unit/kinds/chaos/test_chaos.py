"""What a run of faults says of customers and data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from hops.gates.limits import kind_of
from hops.kinds import make_report
from hops.kinds.chaos.document import Document, Struck
from hops.kinds.chaos.report import conclusions, doubts, errors_table, faults_table, wrong
from hops.run.documents import SCHEMA
from hops.synthetic.run import plain_manifest


def struck(fault: str, block: int = 1, **more: Any) -> Struck:
    """One fault, of which nobody saw anything."""
    given = {
        "block": block,
        "topology": "rest",
        "fault": fault,
        "about": "done",
        "journeys": 300,
        "failed": {},
        "failed_journeys": {},
        "messages": {},
        "lasted_s": 0.5,
        "failing_s": 0.0,
        "over": True,
        "before_ms": {"p50": 10.0, "p99": 20.0},
        "during_ms": {"p50": 12.0, "p99": 90.0},
        "checkouts": 150,
        "repeated": 0,
        "unanswered": 0,
        "settle_s": 0.0,
        "unsettled": 0,
        "broken": [],
        "gates": [kind_of("other_cores").held(0.1)],
    }
    return cast("Struck", {**given, **more})


def document(*rows: Struck) -> Document:
    return Document(
        schema=SCHEMA, name="night", manifest=plain_manifest("rest"), blocks=2, rate=20.0, struck=list(rows)
    )


SEEN = struck("kill:order", failed={"server": 4}, failed_journeys={"checkout": 4}, failing_s=0.4, repeated=4)
UNSEEN = struck("kill:order", block=2)


def test_blocks_of_a_fault_are_a_row() -> None:
    (row,) = faults_table(document(SEEN, UNSEEN)).rows
    assert [cell.text for cell in row[:2]] == ["rest", "kill:order"]
    assert [cell.value for cell in row[2:-1]] == [0.5, 300, 4, 0.4, 10.0, 12.0, 90.0, 300, 4]
    assert row[-1].text == "right"
    (errors,) = errors_table(document(SEEN, UNSEEN)).rows
    assert [cell.text for cell in errors[2:]] == ["4 server", "4 checkout"]


def test_what_is_not_over_or_has_no_answer_has_no_figure() -> None:
    (row,) = faults_table(document(struck("freeze:order", over=False, during_ms={}))).rows
    assert row[5].text == "not over"
    assert row[8].text == "–"
    assert (row[5].value, row[8].value) == (None, None)


def test_a_run_says_what_nobody_saw_and_what_was_over_late() -> None:
    late = struck("freeze:edge", failed={"timeout": 9}, failing_s=9.0, lasted_s=3.0)
    said, data = conclusions(document(SEEN, struck("kill:jaeger"), late))
    assert said == (
        "In rest, 13 of 900 journeys failed, and 1 of 3 faults failed none; journeys still failed 5 s after the end of "
        "freeze:edge."
    )
    assert data == "450 purchases that customers were told of are in the data, each once, after 3 faults."


def test_anything_lost_doubled_or_left_half_done_is_wrong_and_nothing_then_speaks_well_of_the_data(
    tmp_path: Path,
) -> None:
    bad = document(
        struck("kill:order", broken=["money adds up"], gates=[kind_of("invariants_broken").held(1)]),
        struck("kill:edge", unanswered=2, repeated=2),
        struck("freeze:order", unsettled=3, gates=[kind_of("other_cores").held(0.4)]),
    )
    assert wrong(bad) == [
        "rest, kill:order, block 1: money adds up: BROKEN",
        "rest, kill:edge, block 1: 2 purchases failed again when repeated",
        "rest, freeze:order, block 1: 3 sagas or updates never ended",
    ]
    assert [*map(str, doubts(bad))] == [
        "NOISY: CPU of other programs: 0.400 cores, not below 0.25 cores (fails in 1 of 3 faults)"
    ]
    assert len(list(conclusions(bad))) == 1
    (tmp_path / "chaos.json").write_text(json.dumps(bad))
    page, verdict = make_report(tmp_path)
    assert verdict == "WRONG"
    assert "money adds up: BROKEN" in page.read_text()
    assert "Close other programs or lower the load" in page.read_text()
    assert "was answered" not in page.read_text()
