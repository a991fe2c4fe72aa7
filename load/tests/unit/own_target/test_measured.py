"""The targets to measure, the generator's settings for them, and settings that only the shop has."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiment.blocks import WORKLOAD
from experiment.cli import app
from experiment.commands.own_targets import begin_targets
from experiment.errors import UsageError
from experiment.kinds.isolate import isolate_arms
from experiment.kinds.rates import rate_arms
from experiment.kinds.rtt import rtt_arms
from experiment.own_target.file import TargetFile
from experiment.own_target.measured import as_topologies, read_targets, switches_given
from experiment.plan.arms_in_blocks import Plan, arms_of, read_switches
from experiment.plan.networks import channel_networks
from experiment.plan.profiles import profile_named
from experiment.results.folder import read_json
from mesh.description.switches import Switches

SHOP = """
name: books
targets:
  old: {endpoints: {http: "http://127.0.0.1:9001"}}
  new: {endpoints: {http: "http://127.0.0.1:9002"}}
journeys:
  look: {steps: [{http: GET /books/1}]}
http: 2
connections: 7
traces: here
"""
OTHER = SHOP.replace("old:", "older:").replace("new:", "newer:")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A target file with two targets."""
    path = tmp_path / "books.yaml"
    path.write_text(SHOP, encoding="utf-8")
    return path


@pytest.fixture
def books(file: Path) -> TargetFile:
    return read_targets(str(file))


def test_targets_are_chosen_by_name_and_in_order(file: Path) -> None:
    assert list(read_targets(str(file)).target.targets) == ["old", "new"]
    assert list(read_targets(str(file), "new, old").target.targets) == ["new", "old"]


def test_files_that_differ_only_in_their_targets_are_measured_together(file: Path) -> None:
    other = file.with_name("other.yaml")
    other.write_text(OTHER, encoding="utf-8")
    both = f"{file},{other}"
    assert list(read_targets(both).target.targets) == ["old", "new", "older", "newer"]
    assert [one.name for one in as_topologies(read_targets(both, "newer,old"))] == ["newer", "old"]
    other.write_text(OTHER.replace("/books/1", "/books/2"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"other.yaml: it differs from .*books.yaml in more than its targets"):
        read_targets(both)
    other.write_text(SHOP, encoding="utf-8")
    with pytest.raises(UsageError, match="another file has a target new too"):
        read_targets(both)


def test_a_run_has_the_steps_of_the_chosen_targets(file: Path, tmp_path: Path) -> None:
    """Another target of the file may have other endpoints, and use TLS."""
    file.write_text(SHOP.replace('http: "http://127.0.0.1:9002', 'web: "https://127.0.0.1:9002'), encoding="utf-8")
    for chosen, endpoint in {"old": "http", "new": "web"}.items():
        measured = read_targets(str(file), chosen)
        places = {name: place.model_dump(mode="json") for name, place in measured.target.targets.items()}
        arms = arms_of(as_topologies(measured), Switches(edge="none"))
        plan = Plan("load", chosen, arms, 1, profile_named("smoke"), 1, file, about={"targets": places})
        folder = begin_targets(plan, tmp_path / "results")
        (journey,) = read_json(folder.path / WORKLOAD)["journeys"]
        assert [step["at"] for step in journey["steps"]] == [endpoint]
        folder.release()
    file.write_text(SHOP.replace("{http: GET", "{at: nowhere, http: GET"), encoding="utf-8")
    with pytest.raises(UsageError, match="'nowhere' is not an endpoint"):
        begin_targets(plan, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_settings_override_the_file_s_generator_settings(books: TargetFile, file: Path) -> None:
    targets = as_topologies(books)
    given = switches_given(books, {"http": None})
    arms = arms_of(targets, read_switches(targets, given, channel_networks(file)))
    assert [arm.label for arm in arms] == ["old", "new"]
    for switches in (arm.switches for arm in arms):
        assert (switches.http, switches.connections, switches.trace, switches.edge) == (2, 7, 0.1, "none")
    given = switches_given(books, {"http": "1", "connections": "9", "trace": "0.5", "rtt": "20ms"})
    (switches,) = {arm.switches for arm in arms_of(targets, read_switches(targets, given))}
    assert (switches.http, switches.connections, switches.trace, switches.rtt_ms) == (1, 9, 0.5, 20)


def test_a_given_network_overrides_the_file_s(file: Path) -> None:
    file.write_text(SHOP + "networks: {web: {rtt: 30ms}}\n", encoding="utf-8")
    books, networks = read_targets(str(file)), channel_networks(file)
    targets = as_topologies(books)
    assert set(read_switches(targets, switches_given(books, {}), networks).networks) == {"web"}
    given = switches_given(books, {"rtt": "5ms"})
    assert not read_switches(targets, given, networks).networks


def test_a_channel_without_a_network_is_refused_before_anything_is_sent(file: Path, tmp_path: Path) -> None:
    calls = SHOP.replace("journeys:", "journeys:\n  call: {channel: mobile, steps: [{http: GET /books/2}]}")
    file.write_text(calls + "networks: {web: 4g}\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["load", str(file), "--results", str(tmp_path / "results")])
    assert done.exit_code == 2
    assert f"{file}:12: networks: lacks mobile, which journeys use" in done.stderr
    assert not (tmp_path / "results").exists()
    file.write_text(calls.replace("mobile,", "mobile, weight: 0,") + "networks: {web: 4g}\n", encoding="utf-8")
    assert set(channel_networks(file)) == {"web"}


def test_journeys_are_traced_if_the_file_names_a_store_of_traces(file: Path) -> None:
    file.write_text(SHOP.replace("traces: here", ""), encoding="utf-8")
    books = read_targets(str(file))
    assert switches_given(books, {})["trace"] == "0"
    with pytest.raises(UsageError, match=r"trace=0\.5: the target file must say where the traces are"):
        switches_given(books, {"trace": "0.5"})


def test_targets_at_distances_and_rates_and_without_a_journey(books: TargetFile, file: Path, tmp_path: Path) -> None:
    targets, given = as_topologies(books), switches_given(books, {})
    far = rtt_arms(targets, "0,20", given)
    assert [(arm.label, arm.topology.name, arm.switches.rtt_ms) for arm in far] == [
        ("old-0ms", "old", 0),
        ("new-0ms", "new", 0),
        ("old-20ms", "old", 20),
        ("new-20ms", "new", 20),
    ]
    assert all(arm.switches.emulates_network for arm in far)
    rates = rate_arms(targets, "5,10", given, file, tmp_path)
    assert [(arm.label, arm.rate) for arm in rates] == [("old-5", 5), ("new-5", 5), ("old-10", 10), ("new-10", 10)]
    apart = isolate_arms(targets[0], "look", given)
    assert [(arm.label, arm.without) for arm in apart] == [("as-is", ""), ("without-look", "look")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare --topologies rest", "topologies=rest with target=: targets= chooses among the targets of the file"),
        ("compare --workload even", "workload=even with target=: the target file has the journeys"),
        ("compare --edges kong", "edges=kong with target=: a target has only the endpoints in its file"),
        ("compare --mesh envoy", "mesh=envoy with target=: it changes how the shop is started, and a target is"),
        ("soak --updates off", "updates=off with target=: it changes how the shop is started"),
        ("isolate --journey look", "`make isolate` measures one target; give targets= one of old, new"),
        ("isolate --targets old", "journey=bulk_lines: the workload books has no such journey; valid: look"),
        ("rates --targets gone", "targets=gone: gone is unknown; valid: old, new"),
    ],
)
def test_a_setting_that_fits_no_target_is_refused_with_the_reason(file: Path, arguments: str, message: str) -> None:
    done = CliRunner().invoke(app, [*arguments.split(), "--target", str(file)])
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("setting", ["targets", "target-is-mine"])
def test_settings_of_targets_need_a_target(setting: str) -> None:
    done = CliRunner().invoke(app, ["compare", f"--{setting}", "here"])
    assert done.exit_code == 2
    assert f"{setting}=here needs target=FILE" in done.stderr


def test_load_chooses_targets_of_its_file(file: Path) -> None:
    done = CliRunner().invoke(app, ["load", str(file), "--targets", "nowhere"])
    assert done.exit_code == 2
    assert "targets=nowhere: nowhere is unknown; valid: old, new" in done.stderr
