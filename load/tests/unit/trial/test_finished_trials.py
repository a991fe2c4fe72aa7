"""A trial's folder is complete or does not exist, no matter when a crash happens."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from experiment.plan.arms_in_blocks import Arm, Planned
from experiment.trial.finished_trials import RECORD, TrialFiles
from experiment.trial.resources import Origin
from hops.gates.verdict import failing_gates
from mesh.description.switches import Switches
from mesh.description.topology import load_topology

from ..fake_trials import fake_trial

REST = Arm("rest", load_topology("rest"), Switches())
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def finish(files: TrialFiles, planned: Planned, attempt: int = 1, **kind: Any) -> None:
    files.scratch(planned).mkdir(parents=True)
    files.finish(planned, fake_trial(**kind), attempt=attempt, began=BEGAN, commit="c0ffee")


def test_a_finished_trial_has_its_record_and_its_rows(tmp_path: Path) -> None:
    files, planned = TrialFiles(tmp_path), Planned(2, 1, REST)
    assert files.record(planned.name) is None
    finish(files, planned)
    record = files.record("2-rest")
    assert record is not None
    assert (record["block"], record["topology"], record["attempt"], failing_gates(record["gates"])) == (
        2,
        "rest",
        1,
        [],
    )
    frames = dict(files.frames([planned]))
    assert set(frames) == {"journeys", "hops", "resources", "calls", "paths"}
    assert frames["journeys"].columns[:2] == ["block", "topology"]


def test_rows_with_and_without_the_columns_of_an_edge_are_combined(tmp_path: Path) -> None:
    files, without, behind = TrialFiles(tmp_path), Planned(1, 1, REST), Planned(2, 1, REST)
    finish(files, without)
    finish(files, behind)
    rows = tmp_path / without.name / "journeys.parquet"
    kept = pl.read_parquet(rows)
    added = kept.columns[-1]
    kept.drop(added).write_parquet(rows)
    journeys = dict(files.frames([without, behind]))["journeys"]
    assert journeys.columns == kept.columns
    assert journeys[added].null_count() == kept.height > 0


def test_a_record_names_the_source_of_resources_unless_it_is_the_kernel(tmp_path: Path) -> None:
    files = TrialFiles(tmp_path)
    finish(files, Planned(1, 1, REST))
    finish(files, Planned(2, 1, REST), origin=Origin("kubelet", 10.234))
    native, in_cluster = files.records()
    assert "resources_from" not in native
    assert in_cluster["resources_from"] == {"source": "kubelet", "resolution_s": 10.2}


def test_a_later_attempt_replaces_the_first_which_is_kept(tmp_path: Path) -> None:
    files, planned = TrialFiles(tmp_path), Planned(1, 1, REST)
    finish(files, planned, failures=1)
    finish(files, planned, attempt=2)
    assert [(row["attempt"], row["used"], failing_gates(row["gates"])) for row in files.records()] == [
        (1, False, ["failure_share"]),
        (2, True, []),
    ]
    assert (tmp_path / "1-rest.attempt1" / RECORD).is_file()


def test_an_unfinished_trial_is_removed_and_named(tmp_path: Path) -> None:
    files, planned = TrialFiles(tmp_path), Planned(1, 1, REST)
    scratch = files.scratch(planned)
    scratch.mkdir(parents=True)
    (scratch / "journeys.jsonl").write_text("{")
    assert files.recover() == ["1-rest"]
    assert list(tmp_path.iterdir()) == []


def test_a_trial_that_only_lacks_its_name_is_not_lost(tmp_path: Path) -> None:
    files, planned = TrialFiles(tmp_path), Planned(1, 1, REST)
    finish(files, planned)
    (tmp_path / "1-rest").rename(tmp_path / ".1-rest.partial")
    assert files.recover() == []
    assert files.record("1-rest") is not None


def test_an_attempt_that_only_lacks_its_name_replaces_the_first(tmp_path: Path) -> None:
    files, planned = TrialFiles(tmp_path), Planned(1, 1, REST)
    finish(files, planned, failures=1)
    finish(files, planned, attempt=2)
    (tmp_path / "1-rest").rename(tmp_path / ".1-rest.partial")
    (tmp_path / "1-rest.attempt1").rename(tmp_path / "1-rest")
    assert files.recover() == []
    assert [(row["attempt"], row["used"]) for row in files.records()] == [(1, False), (2, True)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False, timeout=10).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True, timeout=10)


def test_a_full_disk_loses_only_that_trial(small_disk: Path) -> None:
    files, first, second = TrialFiles(small_disk), Planned(1, 1, REST), Planned(2, 1, REST)
    finish(files, first)
    with pytest.raises(OSError, match="No space left") as caught:
        finish(files, second, rows=50_000)
    assert caught.value.errno == errno.ENOSPC
    assert files.recover() == ["2-rest"]
    assert [row["block"] for row in files.records()] == [1]
