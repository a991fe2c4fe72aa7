"""The report of a made-up isolation experiment."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from hops.kinds import make_report
from hops.kinds.isolate.document import AS_IS, KIND
from hops.run.files import HOPS_FILE, MANIFEST
from synthetic.run import Arm, write_generated_run

from ...report.pages import edited, markdown_of, page_of

WITHOUT, APART = "without-bulk_lines", "apart-bulk_lines"
ARMS = (Arm(AS_IS, "graphql"), Arm(WITHOUT, "graphql"), Arm(APART, "graphql", {"apart": "bulk_lines"}))


@pytest.fixture(scope="module")
def isolated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("isolate") / "run"
    slowed = {AS_IS: {"work:product": 4.0}}
    write_generated_run(folder, kind=KIND, arms=ARMS, blocks=3, journeys_per_trial=600, delays_ms=slowed)
    journeys = pl.read_parquet(folder / "journeys.parquet")
    gone = (pl.col("topology") == WITHOUT) & (pl.col("journey") == "bulk_lines")
    traces = journeys.filter(gone)["trace_id"]
    journeys.filter(~gone).write_parquet(folder / "journeys.parquet")
    hops = pl.read_parquet(folder / HOPS_FILE)
    kept = (pl.col("topology") != WITHOUT) | ~pl.col("trace_id").is_in(traces.implode())
    hops.filter(kept).write_parquet(folder / HOPS_FILE)
    loads = {
        label: {"rate": 50.0, "without": "", "tape": tape * 64, "journeys": 600}
        for label, tape in ((AS_IS, "a"), (WITHOUT, "b"), (APART, "a"))
    }
    with edited(folder / MANIFEST) as manifest:
        manifest["loads"] = loads
    make_report(folder)
    return folder


def test_an_isolation_begins_with_what_others_gain(isolated: Path) -> None:
    report = page_of(isolated)
    assert report.sections[0] == "isolation"
    assert "Which is the fastest" not in report.text
    head, *rows = report.tables["isolation"]
    assert [cell.strip() for cell in head[:2]] == ["arm", "journey"]
    assert [row[0].strip() for row in rows] == ["without bulk_lines", "bulk_lines apart"]
    assert len(report.tables["isolation_journeys"]) > 2 * 5


def test_each_arm_has_a_sentence_with_measured_and_predicted_gain(isolated: Path) -> None:
    text = markdown_of(isolated)
    for arm in ("without bulk_lines", "bulk_lines apart"):
        (sentence,) = re.findall(rf"^- {arm}: .*$", text, re.MULTILINE)
        assert re.search(r"measured gain \d\.\d ms \(\d\.\d to \d\.\d\), predicted −?\d", sentence)
        assert re.search(r"; they (agree|differ): difference −?\d\.\d+ ms \(", sentence)


def test_too_few_journeys_are_reported_once(isolated: Path) -> None:
    _, *rows = page_of(isolated).tables["isolation_journeys"]
    few = [row[-1] for row in rows if row[-1].startswith("too few")]
    assert few
    assert all(reason.count("too few") == 1 and "journeys met a bulk_lines" in reason for reason in few)


def test_only_arms_with_the_same_journeys_are_compared_as_they_are(isolated: Path) -> None:
    summary = json.loads((isolated / "summary.json").read_text(encoding="utf-8"))
    assert {(row["left"], row["right"]) for row in summary["comparisons"]} == {(APART, AS_IS)}
    assert "bulk_lines" not in summary["topologies"][WITHOUT]["journeys"]
