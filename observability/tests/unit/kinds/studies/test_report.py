"""A made-up replay: verdicts on claims whose truth is known, and its pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from hops.kinds import make_report, show_run
from hops.kinds.studies.document import StudySummary, Verdict
from hops.run.files import JOURNEYS_FILE, MANIFEST, SUMMARY, TRIALS, read_document
from synthetic.of_studies import synthetic_claim, write_synthetic_replay

from ...report.pages import edited, page_of, print_view

TRUTH = {
    "rest-flat": 1.0, "grpc-flat": 0.7, "graphql-flat": 1.3, "rest-naive-flat": 3.0, "rest-large": 1, "grpc-large": 0.4
}  # fmt: skip
CLAIMS = [
    synthetic_claim("T1", relation="ratio", value=0.7, published="35 and 50 ms"),
    synthetic_claim("T2", relation="ratio", value=0.2, also={"large": ["grpc", "rest"]}),
    synthetic_claim("T3", relation="gt"),
    synthetic_claim("T4", left="graphql", relation="lt"),
    synthetic_claim("T5", metric="payload_effect", relation="gt", loads=["flat", "large"]),
    synthetic_claim("T6", left="thrift"),
    synthetic_claim("T7", reason="it needs another moon", loads=[]),
    synthetic_claim("T8", metric="payload_bytes", relation="lt"),
    synthetic_claim("T9", metric="success_rate", relation="gt"),
    synthetic_claim("T10", metric="latency_mean", relation="eq", tolerance=0.5),
    synthetic_claim(
        "T11", metric="saturation_users", left="rest", right="grpc", loads=["flat", "large"], tolerance=0.05
    ),
    synthetic_claim("T12", left="rest", right="grpc", relation="gt"),
    synthetic_claim("T13", metric="cpu_percent", relation="lt"),
    synthetic_claim("T14", metric="memory_mb", relation="gt"),
]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_synthetic_replay(tmp_path_factory.mktemp("studies") / "run", CLAIMS, TRUTH)
    with edited(folder / TRIALS) as document:
        for trial in document["trials"]:
            if trial["topology"] == "made-up-grpc-flat":
                trial["cpu_s"]["product"] *= 0.5
                trial["rss_mb"]["product"] *= 0.5
                trial["rss_mb"]["notification"] = 900.0  # answers no journey, so its memory does not count
    make_report(folder)
    return folder


@pytest.fixture
def verdicts(replayed: Path) -> dict[str, Verdict]:
    summary: StudySummary = json.loads((replayed / SUMMARY).read_text(encoding="utf-8"))
    return {verdict["claim"]["id"]: verdict for verdict in summary["studies"][0]["verdicts"]}


def test_each_claim_gets_the_verdict_that_is_true(verdicts: dict[str, Verdict]) -> None:
    assert {name: (one["outcome"], one["size"] and one["size"]["inside"]) for name, one in verdicts.items()} == {
        "T1": ("holds", True), "T2": ("holds", False), "T3": ("contradicted", None), "T4": ("contradicted", None),
        "T5": ("holds", None), "T6": ("not comparable", None), "T7": ("not comparable", None),
        "T8": ("not shown", None), "T9": ("not shown", None), "T10": ("holds", None), "T11": ("not shown", None),
        "T12": ("holds", None), "T13": ("holds", None), "T14": ("contradicted", None),
    }  # fmt: skip
    effect = verdicts["T5"]["effect"]
    assert effect["value"] == pytest.approx(0.7 / 0.4, rel=0.1)  # 1/0.4 there over 1/0.7 here


def test_contradictions_are_explained_and_compared_with_one_request_per_item(verdicts: dict[str, Verdict]) -> None:
    assert "between their means" in verdicts["T3"]["why"][0]
    other = verdicts["T4"]["other_client"]
    assert (other["arms"], other["outcome"]) == (["made-up-graphql-flat", "made-up-rest-naive-flat"], "holds")
    reason = "It is not shown for each pair which side levels off first. Users from which throughput levels off: "
    assert verdicts["T11"]["reason"] == f"{reason}rest at most 10, grpc at most 10."
    (beside,) = verdicts["T2"]["other_loads"]
    assert (beside["load"], beside["outcome"]) == ("large", "holds")
    assert beside["effect"]["value"] == pytest.approx(0.4, rel=0.1)
    assert re.fullmatch(r"The edge's part of a journey: [\d.]+ and [\d.]+ ms\.", verdicts["T1"]["beside"])
    (memory,) = verdicts["T14"]["why"]
    assert memory.startswith("Peak memory by component, MB: product ")
    assert "notification" not in memory
    assert verdicts["T6"]["reason"] == "The run has no arm made-up-thrift-flat."


def test_against_one_request_per_item_the_other_client_batches_on_both_sides(tmp_path: Path) -> None:
    truth = {"rest-flat": 1.0, "graphql-flat": 1.3, "rest-naive-flat": 3.0, "graphql-naive-flat": 2.0}
    claim = synthetic_claim("T1", left="graphql", right="rest-naive", relation="lt")
    folder = write_synthetic_replay(tmp_path / "run", [claim], truth, journeys=60)
    make_report(folder)
    summary: StudySummary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    (verdict,) = summary["studies"][0]["verdicts"]
    other = verdict["other_client"]
    assert (verdict["outcome"], other["outcome"]) == ("holds", "contradicted")
    assert other["arms"] == ["made-up-graphql-flat", "made-up-rest-flat"]


def test_a_side_has_not_levelled_off_if_its_throughput_grows_by_more_than_the_tolerance(tmp_path: Path) -> None:
    claim = synthetic_claim(
        "T1", metric="saturation_users", left="rest", right="grpc", loads=["flat", "large"], tolerance=0.01
    )
    truth = {"rest-flat": 1.0, "grpc-flat": 1.0, "rest-large": 1.0, "grpc-large": 1.0}
    folder = write_synthetic_replay(tmp_path / "run", [claim], truth)
    with edited(folder / MANIFEST) as manifest:
        for arm in ("made-up-rest-flat", "made-up-grpc-flat"):  # as many journeys, in more time
            manifest["loads"][arm]["sending"] = {"duration_s": manifest["profile"]["duration_s"] * 1.25}
    make_report(folder)
    (verdict,) = read_document(folder / SUMMARY)["studies"][0]["verdicts"]
    assert verdict["reason"].endswith("Users from which throughput levels off: rest above 10, grpc above 10.")
    assert (verdict["outcome"], verdict["p"]) == ("not shown", 1.0)


def test_arms_of_claims_are_compared_once_and_no_others(replayed: Path) -> None:
    summary = json.loads((replayed / SUMMARY).read_text(encoding="utf-8"))
    compared = {(row["left"], row["right"]) for row in summary["comparisons"]}
    pairs = {("grpc-flat", "rest-flat"), ("graphql-flat", "rest-flat"), ("grpc-large", "rest-large")}
    assert compared == {(f"made-up-{left}", f"made-up-{right}") for left, right in pairs}


def test_the_page_begins_with_the_claims(replayed: Path) -> None:
    text = page_of(replayed).text
    assert "Of 14 published claims, 6 hold and 3 are contradicted" in text
    assert "Nobody (2026): Of 14 claims, 6 hold, 3 are contradicted, 3 are not shown and 2 are not comparable." in text
    assert "T4 (latency, p50: graphql below rest) is contradicted." in text
    assert "It holds if the client makes one request per item: made-up-graphql-flat divided by" in text
    assert "100 users for 60 s" in text
    assert "10 users for 6 s" in text
    assert (replayed / "csv" / "claims_made_up.csv").read_text(encoding="utf-8").count("\n") == 15
    assert "latency, p50: grpc 0.7 times rest" in print_view(show_run(read_document(replayed / SUMMARY)), 200)


def test_a_run_of_several_studies_has_the_verdicts_on_each(tmp_path: Path) -> None:
    folder = write_synthetic_replay(tmp_path, CLAIMS[:4], {name: TRUTH[name] for name in list(TRUTH)[:4]}, journeys=60)
    with edited(folder / MANIFEST) as manifest:
        (study,) = manifest["studies"]
        manifest["studies"] = [study, {**study, "id": "second", "authors": ["B. Second"]}]
    make_report(folder)
    text = page_of(folder).text
    assert "Of 8 claims, 2 hold, 2 are contradicted and 4 are not comparable." in text
    assert "A. Nobody, “A study that nobody made”, nowhere, 2026." in text
    rows = (folder / "csv" / "verdicts.csv").read_text(encoding="utf-8").splitlines()
    assert [row.partition(",")[0] for row in rows[1:]] == ["Nobody (2026)", "Second (2026)"]
    assert (folder / "csv" / "claims_second.csv").is_file()


def test_figures_of_noisy_trials_show_no_direction(tmp_path: Path) -> None:
    claims = [CLAIMS[0], CLAIMS[3], synthetic_claim("T3", metric="payload_bytes", left="graphql", relation="lt")]
    folder = write_synthetic_replay(tmp_path, claims, {name: TRUTH[name] for name in list(TRUTH)[:3]})
    journeys = pl.read_parquet(folder / JOURNEYS_FILE)
    smaller = pl.when(pl.col("topology") == "made-up-graphql-flat").then(0.5).otherwise(1.0)
    journeys.with_columns((pl.col("bytes_in") * smaller).cast(journeys.schema["bytes_in"])).write_parquet(
        folder / JOURNEYS_FILE
    )
    with edited(folder / TRIALS) as document:
        for trial in document["trials"]:
            if trial["topology"] == "made-up-graphql-flat":
                next(gate for gate in trial["gates"] if gate["name"] == "start_lag_p99_ms")["ok"] = False
    make_report(folder)
    first, second, third = read_document(folder / SUMMARY)["studies"][0]["verdicts"]
    # NOISY answers are right, so their bytes decide.
    assert (first["outcome"], second["outcome"], third["outcome"]) == ("holds", "not shown", "holds")
    assert re.fullmatch("Its trials are NOISY: start lag at p99.*. Without that: contradicted.", second["reason"])


@pytest.mark.parametrize(
    ("noisy", "bent", "outcome", "left_out"),
    [
        ([1], {}, "holds", [1]),
        ([1, 3], {}, "not shown", []),  # more than a quarter of five blocks
        ([1], {1: 0.01}, "not shown", []),  # with all blocks, no direction is shown
        ([1], {2: 1.6, 3: 0.75}, "not shown", []),  # the other blocks differ too much
    ],
)
def test_a_few_blocks_with_noisy_trials_are_left_out(
    noisy: list[int], bent: dict[int, float], outcome: str, left_out: list[int], tmp_path: Path
) -> None:
    folder = write_synthetic_replay(tmp_path, CLAIMS[:1], {name: TRUTH[name] for name in list(TRUTH)[:2]})
    journeys = pl.read_parquet(folder / JOURNEYS_FILE)
    factor = pl.lit(1.0)
    for block, by in bent.items():
        here = (pl.col("block") == block) & (pl.col("topology") == "made-up-rest-flat")
        factor = pl.when(here).then(by).otherwise(factor)
    journeys.with_columns((pl.col("latency_ns") * factor).cast(pl.Int64)).write_parquet(folder / JOURNEYS_FILE)
    with edited(folder / TRIALS) as document:
        for trial in document["trials"]:
            if trial["topology"] == "made-up-grpc-flat" and trial["block"] in noisy:
                next(gate for gate in trial["gates"] if gate["name"] == "start_lag_p99_ms")["ok"] = False
    make_report(folder)
    (verdict,) = read_document(folder / SUMMARY)["studies"][0]["verdicts"]
    assert (verdict["outcome"], verdict["left_out"]) == (outcome, left_out), verdict["reason"]
    assert ("Left out because of NOISY trials: block 1." in page_of(folder).text) == bool(left_out)
    assert ("the other blocks decide" in page_of(folder).text) == bool(left_out)


@pytest.mark.parametrize(
    ("side", "outcome"),
    [("rest", "holds"), ("grpc", "not shown")],  # the faster side fails, and its survivors are not all of it
)
def test_a_latency_is_judged_only_if_failed_journeys_change_nothing(side: str, outcome: str, tmp_path: Path) -> None:
    factors = {name: TRUTH[name] for name in ("rest-flat", "grpc-flat")}
    folder = write_synthetic_replay(tmp_path, [synthetic_claim("T1", metric="latency_mean")], factors, journeys=100)
    journeys = pl.read_parquet(folder / JOURNEYS_FILE)
    late = (pl.col("topology") == f"made-up-{side}-flat") & (pl.col("seq") % 4 == 0)
    journeys.with_columns(
        outcome=pl.when(late).then(pl.lit("timeout")).otherwise(pl.col("outcome")),
        latency_ns=pl.when(late).then(pl.lit(5 * 10**9)).otherwise(pl.col("latency_ns")),
    ).write_parquet(folder / JOURNEYS_FILE)
    with edited(folder / TRIALS) as document:
        for trial in document["trials"]:  # an overload may fail journeys
            trial["gates"] = [gate for gate in trial["gates"] if gate["name"] != "failure_share"]
    make_report(folder)
    (verdict,) = read_document(folder / SUMMARY)["studies"][0]["verdicts"]
    assert verdict["outcome"] == outcome, verdict["reason"]
    assert verdict["reason"].startswith("Failed journeys decide: with them, the effect is ") == (outcome == "not shown")
    assert verdict["failed"] == ([0.0, 25.0] if side == "rest" else [25.0, 0.0])
    assert "Failed journeys, in percent: " in page_of(folder).text
    assert "It is decided only if both verdicts agree." in page_of(folder).text
