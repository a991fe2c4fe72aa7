from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from experiment.cli import app
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Plan, arms_of
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.precision import foresee, parse_precision, require_attainable, visible_sentence
from experiment.plan.profiles import PROFILES
from experiment.progress import minutes
from hops.run.documents import SCHEMA
from hops.run.files import MANIFEST, SUMMARY
from hops.statistics.intervals import t_quantile
from hops.statistics.two_stage import half_width_of
from mesh.description.switches import Switches
from mesh.description.topology import load_topology

BLOCK_S = 140.0


def plan(precision: float = 0.05, *names: str) -> Plan:
    arms = arms_of([load_topology(name) for name in names or ("rest", "grpc")], Switches())
    return Plan("compare", "compare", arms, 10, PROFILES["compare"], 1, Path("default.yaml"), precision=precision)


def test_a_precision_is_a_percentage_or_nothing() -> None:
    assert [parse_precision(given) for given in ("5%", "", None)] == [0.05, None, None]


@pytest.mark.parametrize("given", ["0.009%", "51%"])
def test_the_command_refuses_another_before_anything_starts(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiment.commands.in_blocks.begin", lambda *_: pytest.fail("an experiment began"))
    done = CliRunner().invoke(app, ["compare", "--precision", given])
    assert done.exit_code != 0
    assert f"precision={given} is not valid: give a percentage from 0.01% to 50%, such as 5%" in done.stderr


def test_the_command_says_before_it_starts_that_it_takes_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiment.commands.in_blocks.RESULTS", tmp_path)
    monkeypatch.setattr("experiment.commands.in_blocks.begin", lambda *_: pytest.fail("an experiment began"))
    done = CliRunner().invoke(app, ["compare", "--precision", "0.1%", "--blocks", "10"])
    assert done.exit_code != 0
    assert "precision=0.1% would take about" in done.stderr
    assert " days, if trials scatter by 5 %; a finished run with the same settings would show their scatter" in (
        done.stderr
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["rtt", "ladder", "bench"])
def test_other_commands_have_no_precision(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--precision", "5%"])
    assert done.exit_code == 2
    assert "No such option: --precision" in done.stderr


def test_a_resumed_experiment_keeps_its_precision() -> None:
    done = CliRunner().invoke(app, ["compare", "--resume", "latest", "--precision", "5%"])
    assert "resume= keeps the experiment's original settings; leave out precision" in done.stderr


def test_without_an_earlier_run_trials_are_expected_to_scatter_by_5_percent(tmp_path: Path) -> None:
    likely = foresee(plan(), tmp_path, BLOCK_S)
    expected = 10 * (t_quantile(9) * 0.05 * math.sqrt(2 / 10) / half_width_of(0.05)) ** 2
    assert likely.scatter == 0.05
    assert 0.8 * expected < likely.blocks < 1.1 * expected
    assert likely.seconds == likely.blocks * BLOCK_S
    assert likely.cause == "if trials scatter by 5 %"
    # The more pairs there are, the more likely it is that one of them scatters more.
    assert foresee(plan(0.05, "rest", "graphql", "grpc", "hybrid"), tmp_path, BLOCK_S).blocks > likely.blocks


def test_a_precision_that_takes_too_long_is_refused_with_an_attainable_one(tmp_path: Path) -> None:
    wanted = plan(0.005, "rest", "graphql", "grpc", "hybrid")
    likely = foresee(wanted, tmp_path, BLOCK_S)
    with pytest.raises(UsageError) as refused:
        require_attainable(wanted, likely)
    assert str(refused.value) == (
        "precision=0.5% would take about 1,500 blocks, about 59 h, if trials scatter by 5 %; a finished run with the "
        "same settings would show their scatter here. An experiment has at most 100 blocks, which give a precision of "
        "about 2 %"
    )
    reachable = replace(wanted, precision=1.05 * likely.attainable)
    require_attainable(reachable, foresee(reachable, tmp_path, BLOCK_S))
    beyond = replace(wanted, precision=0.95 * likely.attainable)
    assert foresee(beyond, tmp_path, BLOCK_S).blocks > MAX_BLOCKS


def finished_run(
    results: Path, name: str, one: Plan, half_width: float, *, visible: float | None = None, **changes: Any
) -> None:
    """Writes a finished run of a plan whose only pair has an interval of this width."""
    folder = results / name
    folder.mkdir()
    profile = one.profile
    manifest = {
        "schema": SCHEMA,
        "kind": one.kind,
        "arms": {arm.label: arm.switches.as_dict() for arm in one.arms},
        "profile": {"warmup_s": profile.warmup_s, "duration_s": profile.duration_s, "rate": profile.rate},
        "closed": None if one.closed is None else {"vus": one.closed.vus, "think_s": one.closed.think_s},
        "workload": one.workload.name,
    }
    ends = [math.exp(-half_width), math.exp(half_width)]
    row = {"journey": "all", "metric": "p50", "ratio_ci95": ends, "visible_ratio": visible}
    topologies = {name: {"journeys": {"all": {"latency_ms": {"p50": ms}}}} for name, ms in (("a", 10.0), ("b", 30.0))}
    (folder / MANIFEST).write_text(json.dumps({**manifest, **changes}))
    summary = {"schema": SCHEMA, "blocks": 10, "comparisons": [row], "topologies": topologies}
    (folder / SUMMARY).write_text(json.dumps(summary))


CALM = t_quantile(9) * 0.02 * math.sqrt(2 / 10)
"""Half width of the interval for two topologies over ten blocks whose trials scatter by 2 %."""


def test_the_last_run_with_the_same_arms_gives_the_expected_scatter(tmp_path: Path) -> None:
    finished_run(tmp_path, "20261120T100000Z-compare", plan(), 9.9)
    finished_run(tmp_path, "20261121T100000Z-compare", plan(), CALM)
    likely = foresee(plan(0.02), tmp_path, BLOCK_S)
    assert likely.scatter == pytest.approx(0.02)
    assert likely.cause == "if trials scatter by 2 %, as in 20261121T100000Z-compare"
    assert likely.blocks < foresee(plan(0.02), tmp_path / "none", BLOCK_S).blocks
    with pytest.raises(
        UsageError, match=r"if trials scatter by 2 %, as in 20261121T100000Z-compare\. An experiment has at most 100"
    ):
        require_attainable(plan(0.001), foresee(plan(0.001), tmp_path, BLOCK_S))


def test_the_last_run_with_the_same_arms_gives_the_visible_difference(tmp_path: Path) -> None:
    assert "10 blocks can show is unknown until the first blocks have run" in visible_sentence(plan(), tmp_path)
    finished_run(tmp_path, "20261120T100000Z-compare", plan(), CALM, visible=1.1)
    finished_run(tmp_path, "20261121T100000Z-compare", plan(), CALM)
    ten, forty = (visible_sentence(replace(plan(), blocks=blocks), tmp_path) for blocks in (10, 40))
    assert ten.startswith(
        "If trials scatter as in 20261120T100000Z-compare, 10 blocks show a difference of 10 % (2 ms)"
    )
    assert "40 blocks show a difference of 4.9 % (0.98 ms)" in forty


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": SCHEMA - 1},
        {"kind": "ladder"},
        {"arms": {}},
        {"profile": {"warmup_s": 1, "duration_s": 1, "rate": 20.0}},
        {"closed": {"vus": 8, "think_s": 0.0}},
        {"workload": "mine.yaml"},
    ],
)
def test_a_run_of_another_kind_is_ignored(tmp_path: Path, changes: dict[str, Any]) -> None:
    finished_run(tmp_path, "20261121T100000Z-compare", plan(), CALM, **changes)
    assert foresee(plan(), tmp_path, BLOCK_S).known_from == ""


def test_closed_loops_with_the_same_users_are_alike(tmp_path: Path) -> None:
    eight = replace(plan(), closed=ClosedLoop(vus=8, think_s=0.0))
    finished_run(tmp_path, "20261121T100000Z-compare", eight, CALM)
    assert foresee(eight, tmp_path, BLOCK_S).known_from == "20261121T100000Z-compare"
    nine = replace(eight, closed=ClosedLoop(vus=9, think_s=0.0))
    assert foresee(nine, tmp_path, BLOCK_S).known_from == ""


def test_an_unreadable_run_is_ignored(tmp_path: Path) -> None:
    finished_run(tmp_path, "20261121T100000Z-compare", plan(), CALM)
    (tmp_path / "20261121T100000Z-compare" / SUMMARY).write_text("{")
    finished_run(tmp_path, "20261122T100000Z-compare", plan(), CALM)
    (tmp_path / "20261122T100000Z-compare" / MANIFEST).write_text("{}")
    assert foresee(plan(), tmp_path, BLOCK_S).known_from == ""


def test_a_run_with_a_precision_gives_its_scatter(tmp_path: Path) -> None:
    finished_run(tmp_path, "20261121T100000Z-compare", plan(), CALM)
    file = tmp_path / "20261121T100000Z-compare" / SUMMARY
    file.write_text(json.dumps({**json.loads(file.read_text()), "precision": {"scatter": 0.03}}))
    assert foresee(plan(), tmp_path, BLOCK_S).scatter == 0.03


def test_the_announcement_has_the_first_stage_and_the_estimate_of_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiment.commands.in_blocks.RESULTS", tmp_path)
    output = "\n".join(in_blocks.announcement(plan()))
    likely = in_blocks.foreseen(plan())
    assert "rest, grpc: 10 blocks of 2 trials in random order in a first stage, about" in output
    assert (
        f"It decides how many blocks precision=5% takes: about {likely.blocks} in all, {minutes(likely.seconds)}, "
        "if trials scatter by 5 %. Leave the machine idle until then"
    ) in output
    assert "It decides" not in "\n".join(in_blocks.announcement(replace(plan(), precision=None)))


def test_only_a_missed_precision_is_too_wide() -> None:
    without: Any = {"blocks": 5}
    assert not in_blocks.too_wide(without)
    assert not in_blocks.too_wide({**without, "precision": {"met": True}})
    assert in_blocks.too_wide({**without, "precision": {"met": False}})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (20, "about 20 s"),
        (600, "about 10 min"),
        (9000, "about 150 min"),
        (40 * 3600, "about 40 h"),
        (1e6, "about 12 days"),
    ],
)
def test_a_long_time_is_given_in_hours_or_days(seconds: float, text: str) -> None:
    assert minutes(seconds) == text
