from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from experiment.cli import app
from hops.run.files import MANIFEST
from synthetic.run import write_generated_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same run twice, a run whose orders' database takes 4 ms longer, and NOISY, WRONG and one-block runs."""
    root = tmp_path_factory.mktemp("runs")
    common = {"topologies": ["hybrid"], "journeys_per_trial": 800, "seed": 5}
    return {
        "plain": write_generated_run(root / "plain", blocks=4, **common),
        "slow": write_generated_run(root / "slow", blocks=4, delays_ms={"hybrid": {"db:order": 4.0}}, **common),
        "noisy": write_generated_run(root / "noisy", blocks=4, failing={(2, "hybrid"): "steal_share"}, **common),
        "wrong": write_generated_run(root / "wrong", blocks=4, failing={(2, "hybrid"): "parity"}, **common),
        "single": write_generated_run(root / "single", blocks=1, **common),
    }


def invoke(*arguments):
    return CliRunner().invoke(app, ["compare-runs", *map(str, arguments)])


def test_slower_beyond_the_threshold_exits_with_4(runs):
    done = invoke("--a", runs["plain"], "--b", runs["slow"], "--threshold", "10%")
    assert done.exit_code == 4
    assert "SLOWER by more than 10 %" in done.stdout


def test_the_other_way_round_and_without_a_threshold_it_exits_with_0(runs):
    assert invoke("--a", runs["slow"], "--b", runs["plain"], "--threshold", "10%").exit_code == 0
    assert invoke("--a", runs["plain"], "--b", runs["slow"]).exit_code == 0


@pytest.mark.parametrize(
    ("name", "strict", "code"), [("noisy", "off", 0), ("noisy", "on", 3), ("wrong", "off", 3), ("wrong", "on", 3)]
)
def test_a_doubtful_run_exits_with_3_unless_allowed(runs, name, strict, code):
    done = invoke("--a", runs["plain"], "--b", runs[name], "--threshold", "10%", "--strict", strict)
    assert done.exit_code == code
    assert f"{name.upper()}: " in done.stdout
    allowed = invoke("--a", runs["plain"], "--b", runs[name], "--strict", strict, "--allow-wrong", "yes")
    assert allowed.exit_code == 0


def test_a_threshold_without_figures_to_check_does_not_pass(runs):
    done = invoke("--a", runs["plain"], "--b", runs["single"], "--threshold", "10%")
    assert done.exit_code == 1
    assert "cannot be checked" in done.stderr
    assert "needs 3 blocks" in done.stdout


def test_json_and_markdown(runs, tmp_path):
    out = tmp_path / "found.md"
    done = invoke("--a", runs["plain"], "--b", runs["slow"], "--json", "--out", out)
    assert json.loads(done.stdout)["a"]["name"] == "plain"
    assert out.read_text(encoding="utf-8").startswith("# Two runs compared")


def test_runs_that_cannot_be_compared_exit_with_1_and_the_reason(runs, tmp_path):
    other = write_generated_run(tmp_path / "other", topologies=["hybrid"], blocks=1, journeys_per_trial=100, seed=6)
    done = invoke("--a", runs["plain"], "--b", other)
    assert done.exit_code == 1
    assert "cannot be compared" in done.stderr
    assert "the tapes differ" in done.stderr


def test_a_file_cut_short_exits_with_1_and_its_name(runs, tmp_path):
    broken = write_generated_run(tmp_path / "broken", topologies=["hybrid"], blocks=1, journeys_per_trial=100)
    (broken / MANIFEST).write_text('{"schema": 2', encoding="utf-8")
    done = invoke("--a", runs["plain"], "--b", broken)
    assert done.exit_code == 1
    assert "manifest.json: not valid JSON; the file may be truncated" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--a", "nowhere"], "a=nowhere is not a finished run"),
        (["--threshold", "-1%"], "threshold=-1% is not valid: give a percentage from 0% to 10000%"),
        (["--metrics", "p50"], "add threshold=10%"),
        (["--threshold", "10%", "--metrics", "p51"], "metrics=p51: p51 is unknown"),
        (["--allow-wrong", "perhaps"], "allow-wrong=perhaps is unknown; valid: yes, no"),
        (["--out", "no/such/folder.md"], "out=no/such/folder.md is not a file in an existing folder"),
        (["--out", "."], "out=. is not a file in an existing folder"),
    ],
)
def test_bad_input_exits_with_2(runs, arguments, words):
    given = arguments if "--a" in arguments else ["--a", runs["plain"], *arguments]
    done = invoke("--b", runs["slow"], *given)
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_run_is_not_compared_with_itself(runs):
    done = invoke("--a", runs["plain"], "--b", runs["plain"])
    assert done.exit_code == 2
    assert "give two different runs" in done.stderr
