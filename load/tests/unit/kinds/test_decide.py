from __future__ import annotations

import json
import shutil
from typing import get_type_hints

import pytest
from typer.testing import CliRunner

from experiment.arguments import WORKLOADS
from experiment.blocks import WORKLOAD
from experiment.cli import app
from experiment.kinds import decide
from hops.kinds import analyse
from hops.kinds.decide.analysis import Answer, Decision
from hops.kinds.decide.ranking import Ranking
from hops.run.files import MANIFEST, SUMMARY, read_run, write_summary
from synthetic.of_axes import arms_at_rates
from synthetic.run import Arm, scale_parts, write_generated_run

SLOW_AT_PERCENTAGES = [
    Arm(f"{name}-{percent}pct", name, rate=percent / 100 * held, parts=scale_parts(10.0))
    for percent in (25, 50)
    for name, held in {"hybrid": 80.0, "rest": 120.0}.items()
]
"""Slow arms, of which one of hybrid has a rate of 40 journeys a second too."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder of results: a comparison, a NOISY comparison, one at a distance of 1 ms, a bench, and several rates."""
    root = tmp_path_factory.mktemp("results")
    made = {
        "20260101T000000Z-compare": {},
        "20260102T000000Z-compare": {"failing": {(2, "rest"): "steal_share"}, "journeys_per_trial": 100},
        "20260103T000000Z-compare": {},
        "20260104T000000Z-hybrid": {"topologies": ["hybrid"], "blocks": 1, "journeys_per_trial": 100},
    }
    for name, options in made.items():
        folder = write_generated_run(
            root / name, **{"topologies": ["hybrid", "rest"], "blocks": 3, "journeys_per_trial": 500, **options}
        )
        (folder / WORKLOAD).write_bytes((WORKLOADS / "default.yaml").read_bytes())
    at_a_distance = root / "20260103T000000Z-compare" / MANIFEST
    manifest = json.loads(at_a_distance.read_text(encoding="utf-8"))
    manifest["switches"] |= {"network": "loopback", "rtt_ms": 1.0, "bandwidth": ""}
    at_a_distance.write_text(json.dumps(manifest), encoding="utf-8")
    rates = [*arms_at_rates(("hybrid", "rest"), (10.0, 40.0)), *SLOW_AT_PERCENTAGES]
    over = write_generated_run(
        root / "20260105T000000Z-rates", kind="rates", arms=rates, blocks=3, journeys_per_trial=300
    )
    (over / WORKLOAD).write_bytes((WORKLOADS / "default.yaml").read_bytes())
    for name in (*made, over.name):
        write_summary(analyse(read_run(root / name), name=name), root / name / SUMMARY)
    return root


@pytest.fixture(autouse=True)
def _in_these(results, monkeypatch):
    monkeypatch.setattr(decide, "RESULTS", results)


def invoke(*arguments, run="20260101T000000Z-compare"):
    return CliRunner().invoke(app, ["decide", "--run", run, *map(str, arguments)])


def document(*arguments, run="20260101T000000Z-compare"):
    done = invoke("--json", *arguments, run=run)
    assert done.exit_code == 0, done.stderr
    return {answer["channel"]: answer for answer in json.loads(done.stdout)["answers"]}


def test_the_document_has_the_fields_of_its_types():
    done = invoke("--json")
    decision = json.loads(done.stdout)
    assert decision.keys() == get_type_hints(Decision).keys()
    (answer, *_) = decision["answers"]
    assert answer.keys() == get_type_hints(Answer).keys()
    assert answer["quickest"].keys() == get_type_hints(Ranking).keys()
    assert [one["channel"] for one in decision["answers"]] == ["mobile", "partner", "web", "all"]


def test_it_prints_a_line_for_each_question():
    done = invoke()
    assert done.exit_code == 0
    assert done.stdout.startswith(
        "Which one would we take? By 20260101T000000Z-compare (2 topologies, 3 blocks at 50 journeys a second, VALID)"
    )
    for about in ("mobile", "partner", "web", "whole mix", "cheapest", "fewest bytes", "sources"):
        assert f"\n{about} " in done.stdout


def test_a_noisy_run_is_marked_and_exits_with_3_if_strict():
    done = invoke("--strict", "off", run="20260102T000000Z-compare")
    assert done.exit_code == 0
    assert "whole mix     NOISY: " in done.stdout
    assert invoke("--strict", "on", run="20260102T000000Z-compare").exit_code == 3


def test_a_run_of_an_older_version_is_judged_again(results, tmp_path, monkeypatch):
    name = "20260102T000000Z-compare"
    shutil.copytree(results / name, tmp_path / name)
    summary = json.loads((results / name / SUMMARY).read_text(encoding="utf-8"))
    del summary["verdict"]
    (tmp_path / name / SUMMARY).write_text(json.dumps(summary | {"valid": False}), encoding="utf-8")
    monkeypatch.setattr(decide, "RESULTS", tmp_path)
    assert "whole mix     NOISY: " in invoke("--strict", "off", run=name).stdout


def test_a_workload_s_networks_apply_unless_a_network_is_given():
    far = document("--workload", "distant")
    assert {name: answer["network"] and answer["network"]["name"] for name, answer in far.items()} == {
        "mobile": "4g",
        "partner": "lan",
        "web": "wifi",
        "all": None,
    }
    given = document("--workload", "distant", "--network", "4g", "--rtt", "40ms")
    assert {answer["network"]["rtt_ms"] for answer in given.values()} == {40}
    near = document("--workload", "distant", "--network", "loopback")
    assert {answer["network"]["name"] for answer in near.values()} == {"loopback"}


def test_the_run_has_what_the_user_leaves_out():
    run = "20260103T000000Z-compare"
    own, near = document(run=run), document("--network", "loopback", run=run)
    assert {answer["network"]["rtt_ms"] for answer in own.values()} == {1}
    taken_off = [answer["web"]["quickest"]["values"]["hybrid"]["value"] for answer in (own, near)]
    assert taken_off[0] - taken_off[1] == pytest.approx(1)


def test_the_mix_of_the_run_s_own_workload_keeps_its_weights(tmp_path):
    file = tmp_path / "orders.yaml"
    file.write_text("name: orders\nmix: [{journey: order_history, channel: web, weight: 1}]\n", encoding="utf-8")
    own, named = document(), document("--workload", "default")
    assert named == own
    assert own["web"]["quickest"] != document("--workload", file)["web"]["quickest"]


def test_distance_reverses_the_order_of_a_channel():
    assert document()["partner"]["quickest"]["lowest"] == ["rest"]
    assert document("--network", "4g")["partner"]["quickest"]["lowest"] == ["hybrid"]


def test_a_run_that_is_not_a_comparison_is_refused_with_a_list_of_comparisons():
    done = invoke(run="20260104T000000Z-hybrid")
    assert done.exit_code == 2
    assert "is of kind bench; a decision between topologies needs a run of kind compare" in done.stderr
    assert "available: 20260103T000000Z-compare, 20260102T000000Z-compare" in done.stderr


def test_a_run_without_waiting_customers_cannot_say_how_to_wait():
    done = invoke("--watchers", "100")
    assert done.exit_code == 2
    assert "run=20260101T000000Z-compare has no waiting customers" in done.stderr
    assert "needs a run of `make watch`; there are none yet" in done.stderr


def test_without_any_results_it_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr(decide, "RESULTS", tmp_path)
    done = invoke(run="latest")
    assert done.exit_code == 2
    assert "run=latest is not a finished run" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workload", "nowhere"], "workload=nowhere does not exist; valid: batched, chaos, default,"),
        (["--network", "6g"], "network=6g is unknown; valid: loopback, lan, wifi, 5g, 4g, 3g"),
        (["--rtt", "2h"], "rtt=2h is not a round-trip time from 0ms to 2s"),
        (["--bandwidth", "0"], "bandwidth=0 is not of the form DOWN/UP"),
    ],
)
def test_bad_input_exits_with_2_and_the_valid_choices(arguments, words):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_journey_that_the_run_lacks_is_named(tmp_path):
    file = tmp_path / "odd.yaml"
    file.write_text("name: lacking\nmix: [{journey: browse, channel: partner, weight: 1}]\n", encoding="utf-8")
    done = invoke("--workload", file)
    assert done.exit_code == 1
    assert (
        "the workload odd has browse/partner, which 20260101T000000Z-compare did not measure; it measured"
        in done.stderr
    )


def test_a_run_over_rates_decides_at_one_of_them():
    run = "20260105T000000Z-rates"
    done = invoke("--json", "--rate", "40", run=run)
    assert done.exit_code == 0, done.stderr
    decision = json.loads(done.stdout)
    assert decision["rate"] == 40
    assert {name for one in decision["answers"] for name in one["quickest"]["values"]} == {"hybrid", "rest"}
    assert "3 blocks at 40 journeys a second" in invoke("--rate", "40", run=run).stdout
    for arguments, message in {
        (): "has several rates: give the rate at which to decide, rate= one of 10, 40",
        ("--rate", "25"): "rate=25 was not measured for all topologies by 20260105T000000Z-rates; valid: 10, 40",
    }.items():
        refused = invoke(*arguments, run=run)
        assert refused.exit_code != 0
        assert message in " ".join(refused.stderr.split())


def test_a_comparison_has_one_rate():
    refused = invoke("--rate", "40")
    assert refused.exit_code != 0
    assert "rate=40 is for a run at several rates" in " ".join(refused.stderr.split())


def test_a_summary_from_before_percentiles_of_meetings_is_read(results, tmp_path, monkeypatch):
    older = tmp_path / "20260101T000000Z-compare"
    shutil.copytree(results / older.name, older)
    summary = json.loads((older / SUMMARY).read_text(encoding="utf-8"))
    for row in summary["meetings"]:
        del row["percentiles"], row["beyond_p99"]
    summary["meetings"].append(
        {"topology": "rest", "journey": "all", "met": "browse", "meetings": 40, "share": 0.1, "mean_ms": 0.1,
         "more": {"value": 1.0, "ci95": [0.5, 1.5]}}
    )  # fmt: skip
    (older / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    monkeypatch.setattr(decide, "RESULTS", tmp_path)
    assert invoke().exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--watchers", "100"), "there is no run of watchers yet: run `make watch` first"),
        (("--watchers", "100", "--rate", "4"), "rate= cannot be combined with watchers=; valid with it: run, lateness"),
        (("--watchers", "100", "--lateness", "soon"), "lateness=soon is not valid: give a duration from 1ms to 60m"),
        (("--lateness", "1s"), "lateness=1s needs watchers=, the number of waiting customers"),
    ],
)
def test_how_to_wait_is_decided_by_a_run_of_watchers(arguments, message):
    result = invoke(*arguments, run="latest")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_run_of_watchers_may_be_in_another_folder(tmp_path):
    (tmp_path / "updates.parquet").touch()
    (tmp_path / SUMMARY).write_text("{", encoding="utf-8")
    result = invoke("--watchers", "100", run=str(tmp_path))
    assert result.exit_code == 1
    assert f"{tmp_path / SUMMARY}: not valid JSON" in result.stderr


def test_arms_at_percentages_are_not_part_of_a_decision_at_a_rate(tmp_path, monkeypatch):
    at_10, at_40 = (
        document("--rate", rate, run="20260105T000000Z-rates")["web"]["quickest"]["values"]["hybrid"]["value"]
        for rate in (10, 40)
    )
    assert at_10 == pytest.approx(at_40, rel=0.2)
    write_generated_run(tmp_path / "shares", kind="rates", arms=SLOW_AT_PERCENTAGES, blocks=1, journeys_per_trial=40)
    (tmp_path / "shares" / SUMMARY).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(decide, "RESULTS", tmp_path)
    refused = invoke("--rate", "40", run="shares")
    assert refused.exit_code == 2
    assert "run=shares has no rate at which all topologies ran" in refused.stderr
