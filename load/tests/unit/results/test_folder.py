"""A run's folder appears complete, or not at all."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from experiment.errors import UsageError
from experiment.plan.profiles import PROFILES, profile_named
from experiment.plan.workload import workload_file
from experiment.results.folder import ResultsFolder, check_room, find_run, find_unfinished, finished_runs


def make_finished(root: Path, name: str) -> Path:
    folder = ResultsFolder.new(root, name)
    folder.write_json("summary.json", {"name": name})
    return folder.publish()


def test_publishing_gives_the_name_and_moves_latest(tmp_path: Path) -> None:
    first, second = make_finished(tmp_path, "hybrid"), make_finished(tmp_path, "hybrid")
    assert first != second
    assert (tmp_path / "latest").resolve() == second.resolve()
    assert json.loads((first / "summary.json").read_text()) == {"name": "hybrid"}


@pytest.mark.parametrize("name", ["../hybrid", "..", "", "a/b", "/tmp/a", "a\n", "-a", ".a", "a" * 101])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid name for a results folder"):
        ResultsFolder.new(tmp_path, name)


@pytest.mark.parametrize("name", ["../workloads/default", "..", "", "/etc/hostname", "defaul*"])
def test_a_workload_is_a_name_or_a_yaml_file(name: str) -> None:
    named = "batched, chaos, default, distant, document, even, flat, screens, sequential, updates"
    with pytest.raises(UsageError, match=rf"does not exist; (did you mean default\? )?valid: {named}, or the path"):
        workload_file(name)


def test_an_unfinished_run_leaves_latest_alone(tmp_path: Path) -> None:
    done = make_finished(tmp_path, "hybrid")
    broken = ResultsFolder.new(tmp_path, "hybrid")
    broken.write_json("manifest.json", {})
    kept = broken.set_aside()
    assert kept is not None
    assert kept.name.endswith(".incomplete")
    assert (kept / "manifest.json").is_file()
    assert find_run(tmp_path, "latest") == done.resolve()


def test_a_run_without_files_leaves_no_folder(tmp_path: Path) -> None:
    assert ResultsFolder.new(tmp_path, "hybrid").set_aside() is None
    assert list(tmp_path.iterdir()) == []


def test_a_run_refused_for_a_full_disk_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiment.results.folder.check_room", partial(check_room, needed=1 << 62))
    with pytest.raises(UsageError, match="MiB free"):
        ResultsFolder.new(tmp_path, "soak")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("crashed", [True, False])
def test_an_interrupted_run_can_be_reopened(tmp_path: Path, crashed: bool) -> None:
    first, second = ResultsFolder.new(tmp_path, "a"), ResultsFolder.new(tmp_path, "b")
    for folder in (first, second):
        folder.write_json("plan.json", {})
    if not crashed:
        second.set_aside()
    assert [folder.final.name[-1] for folder in find_unfinished(tmp_path, "plan.json")] == ["b", "a"]
    found = find_unfinished(tmp_path, "plan.json")[0]
    if crashed:
        second.release()  # as the kernel does when the process ends
    found.reopen()
    assert found.publish() == second.final
    assert [folder.final.name[-1] for folder in find_unfinished(tmp_path, "plan.json")] == ["a"]


def test_a_running_run_is_not_reopened(tmp_path: Path) -> None:
    going_on = ResultsFolder.new(tmp_path, "a")
    going_on.write_json("plan.json", {})
    with pytest.raises(UsageError, match="still being written by another process"):
        find_unfinished(tmp_path, "plan.json")[0].reopen()


def test_an_unknown_run_is_refused_with_a_list_of_runs(tmp_path: Path) -> None:
    done = make_finished(tmp_path, "hybrid")
    with pytest.raises(UsageError, match=f"run=nope .* available: {done.name}"):
        find_run(tmp_path, "nope")


def test_only_finished_runs_with_the_wanted_file_are_offered(tmp_path: Path) -> None:
    make_finished(tmp_path, "hybrid")
    for name in ("20260101T000000Z-watch", "20260102T000000Z-watch", "20260103T000000Z-watch.incomplete"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "watch.json").write_text("{}")
    newest_first = ["20260102T000000Z-watch", "20260101T000000Z-watch"]
    assert finished_runs(tmp_path, "watch.json") == newest_first
    with pytest.raises(UsageError, match=f"available: {', '.join(newest_first)}$"):
        find_run(tmp_path, "nope", holds=["watch.json"])


def test_without_any_run_the_message_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are no runs yet: run `make bench` first"):
        find_run(tmp_path, "latest")


def test_unfit_runs_are_named_with_the_kinds_that_fit(tmp_path: Path) -> None:
    name = "20260101T000000Z-chaos"
    (tmp_path / name).mkdir()
    (tmp_path / name / "report.html").touch()
    with pytest.raises(UsageError, match=rf"such as {name}, have no summary\.json; runs of bench, .* have it: "):
        find_run(tmp_path, "latest")


def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where a folder should be")
    with pytest.raises(UsageError, match="cannot be written"):
        ResultsFolder.new(tmp_path / "results", "hybrid")


def test_profiles_are_listed_when_the_name_is_wrong() -> None:
    with pytest.raises(UsageError, match="profile=huge is unknown; valid: smoke, compare, quick, full"):
        profile_named("huge")


@pytest.mark.parametrize("rate", ["0", "-1", "10001", "nan", "fast"])
def test_rates_out_of_range_are_refused(rate: str) -> None:
    with pytest.raises(UsageError, match=f"rate={rate} is not valid: give journeys per second, above 0 and at most 1"):
        profile_named("smoke", rate=rate)


def test_a_rate_replaces_the_profiles_own() -> None:
    assert profile_named("smoke", rate="7.5").rate == 7.5
    assert profile_named("smoke") == PROFILES["smoke"]
