"""From a run's files to its summary."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

from hops.analysis.failures import ANSWERS_FILE, differing_of, failures_of
from hops.analysis.summary import of_ok
from hops.conclusions.comparison import grouped_conclusions
from hops.conclusions.notes import cache_sentences, edge_cache_sentences
from hops.errors import MalformedRunError
from hops.kinds import analyse, show_run
from hops.run.documents.cache import CacheCounts, EdgeCacheCounts
from hops.run.documents.summary import Summary
from hops.run.rows import select_rows
from hops.tables.network import wire_table
from hops.tables.view import SummaryView

from ..report.pages import print_view


@pytest.fixture(scope="module")
def run(make_run):
    return make_run(topologies=["rest", "hybrid"], blocks=3, journeys_per_trial=400, seed=2)


def test_every_key_is_there_and_every_figure_is_a_number(summary):
    assert set(summary) == set(Summary.__required_keys__) | {"distance", "in_use", "meetings"}
    json.dumps(summary, allow_nan=False)
    assert (summary["kind"], summary["blocks"], summary["verdict"]) == ("compare", 3, "VALID")
    assert len(summary["verdicts"]) == 6 + 3


def test_cache_hits_are_reported_if_there_was_a_cache(run, summary):
    counts = CacheCounts(asked=200, hits=62, unanswered=1)
    trials = [{**trial, "cache": {"product": counts}} if trial["topology"] == "rest" else trial for trial in run.trials]
    cached = analyse(replace(run, trials=trials), name="night")
    assert cached["cache"] == {"rest": {"product": {"asked": 600, "hits": 186, "unanswered": 3}}}
    assert cache_sentences(cached) == ["Cache hits of rest: product 31 %; 3 questions got no answer in time."]
    assert cache_sentences(cached)[0] in grouped_conclusions(cached).context
    assert cache_sentences(summary) == []


def test_what_a_shared_cache_answered_and_saved_has_intervals(run, summary):
    def with_cache(trial):
        requests = 900 + trial["block"]
        counts = EdgeCacheCounts(requests=requests, hits=300, fetches=requests - 300, bytes=1_000_000 + trial["block"])
        return {**trial, "edge_cache": counts, "cpu_s": {**trial["cpu_s"], "edge-cache": 0.01}}

    trials = [with_cache(trial) if trial["topology"] == "rest" else trial for trial in run.trials]
    found = analyse(replace(run, trials=trials), name="night")
    figures = found["topologies"]["rest"]["edge_cache"]
    assert figures["hit_share"]["value"] == pytest.approx(900 / 2706)
    assert figures["fetches"]["value"] == pytest.approx((2706 - 900) / 1200)
    assert figures["bytes"]["ci95"][0] < 3_000_006 / 1200 < figures["bytes"]["ci95"][1]
    assert {"edge cache", "origin"} <= set(found["topologies"]["rest"]["cost"])
    assert "origin" in found["topologies"]["hybrid"]["cost"]
    (sentence,) = edge_cache_sentences(found)
    assert sentence.startswith("The edge cache of rest answered 33.3 % (33.2 to 33.4) of the requests")
    assert sentence in grouped_conclusions(found).context
    heads = [column.name for column in wire_table(SummaryView(found)).columns]
    assert heads[-3:] == ["cache hits", "to the edge", "to and from the edge"]
    assert edge_cache_sentences(summary) == []


def test_where_a_cache_answers_no_other_distance_is_predicted(run):
    switches = {**run.manifest["switches"], "edge_cache": "varnish"}
    found = analyse(replace(run, manifest={**run.manifest, "switches": switches}), name="night")
    assert "distance" not in found


def test_why_journeys_failed_and_whose_answers_differ(run, summary):
    def change(**columns):
        few = (pl.col("topology") == "rest") & (pl.col("block") == 1) & (pl.col("seq") < 3)
        rows = run.journeys.with_columns(
            pl.when(few).then(value).otherwise(name).alias(name) for name, value in columns.items()
        )
        trials = [{**trial, "answers_sha256": trial["topology"]} for trial in run.trials]
        return replace(run, journeys=rows, trials=trials)

    reason = 'step shop (t.yaml:4) at web: status 500 instead of 200 to 299: "'
    broken = change(outcome=pl.lit("server"), error=pl.lit(reason) + pl.col("answer_sha256") + '"')
    failed = analyse(broken, name="night")
    assert sum(row["count"] for row in failed["failures"]) == 3
    row = failed["failures"][0]
    assert (row["topology"], row["outcome"]) == ("rest", "server")
    assert row["reason"].startswith(reason)
    seen = print_view(show_run({**failed, "compared": "target"}), 200)
    assert f"- {row['count']} server, rest, {row['journey']}: {reason}" in seen

    hostile = failures_of(change(outcome=pl.lit("server"), error=pl.lit("a\x1b[2Jb")))
    assert {row["reason"] for row in hostile} == {r"a\x1b[2Jb"}

    differing = analyse(change(answer_sha256=pl.lit("other")), name="night")["differing"]
    assert sum(row["count"] for row in differing) == 3
    assert "failures" not in summary
    assert "differing" not in summary


def test_steps_that_differ_are_looked_for_only_in_trials_without_failures(run, tmp_path):
    few = (pl.col("block") == 1) & (pl.col("seq") < 3)
    of_rest, of_hybrid = (few & (pl.col("topology") == name) for name in ("rest", "hybrid"))
    other = run.journeys.with_columns(answer_sha256=pl.when(of_rest).then(pl.lit("other")).otherwise("answer_sha256"))
    failed = other.with_columns(outcome=pl.when(of_hybrid).then(pl.lit("server")).otherwise("outcome"))
    moved = replace(run, path=tmp_path)
    for topology in run.topologies:
        checked = [{"journey": kind, "answer": ["same", topology]} for kind in other["journey"].unique()]
        moved.trial_path(1, topology).mkdir(parents=True)
        (moved.trial_path(1, topology) / ANSWERS_FILE).write_text("\n".join(map(json.dumps, checked)))
    for journeys, steps in ((other, [2]), (failed, [])):
        found = differing_of(replace(moved, journeys=journeys))
        assert sum(row["count"] for row in found) == 3
        assert all(row["steps"] == steps for row in found)


def test_the_network_is_reported_if_all_topologies_had_the_same(run):
    far = run.manifest["switches"] | {"network": "4g", "rtt_ms": 40.0, "bandwidth": "", "visit": "first"}
    near = far | {"rtt_ms": 0.0}

    def network(**arms):
        manifest = run.manifest | {"switches": next(iter(arms.values())), "arms": arms}
        return analyse(replace(run, manifest=manifest), name="night").get("network")

    channel = {"rtt_ms": 40.0, "down_mbit": 12.0, "up_mbit": 12.0, "name": None}
    assert network(rest=far, hybrid=far) == {
        "visit": "first",
        "channels": {"web": channel, "mobile": channel, "partner": channel},
    }
    assert network(rest=near, hybrid=far) is None


def test_figures_are_of_all_blocks(run, summary):
    cell = summary["topologies"]["rest"]["journeys"]["all"]
    ms = run.journeys.filter(pl.col("topology") == "rest")["latency_ns"] / 1e6
    assert cell["count"] == 1200
    assert cell["latency_ms"]["mean"] == pytest.approx(ms.mean())
    assert cell["latency_ms"]["sd"] == pytest.approx(ms.std())
    low, high = cell["latency_ci95"]["p50"]
    assert low < cell["latency_ms"]["p50"] < high
    assert cell["latency_ci95"]["p99_9"] == [None, None]


def test_throughput_is_of_the_time_that_trials_ran(summary):
    # The rate is 50 journeys a second in each trial, however much time passes between trials.
    assert summary["topologies"]["rest"]["throughput_per_s"] == pytest.approx(50, rel=0.15)


def test_wire_and_cpu_are_added_up(run, summary):
    found = summary["topologies"]["hybrid"]
    trials = [row for row in run.used if row["topology"] == "hybrid"]
    wire = {name: sum(row["generator"][name] for row in trials) for name in trials[0]["generator"] if "bytes" in name}
    assert found["wire"] == {
        "bytes_in": wire["wire_bytes_in"],
        "bytes_out": wire["wire_bytes_out"],
        "in_per_journey": pytest.approx(wire["wire_bytes_in"] / 1200),
        "out_per_journey": pytest.approx(wire["wire_bytes_out"] / 1200),
        "opening_bytes_in": wire["opening_bytes_in"],
        "opening_bytes_out": wire["opening_bytes_out"],
        "connections": 4 * len(trials),
    }
    assert found["cpu_ms_per_journey"]["order"] == pytest.approx(sum(t["cpu_s"]["order"] for t in trials) / 1200 * 1e3)
    assert found["rss_mb"]["order"] == max(row["rss_mb"]["order"] for row in trials)


def test_the_share_of_answers_that_clients_had_is_of_all_requests(run):
    trials = [row | {"generator": row["generator"] | {"not_modified": 30}} for row in run.trials]
    cached = analyse(replace(run, trials=trials), name="night")
    rest = run.journeys.filter(pl.col("topology") == "rest")
    share = 3 * 30 / rest["requests"].sum()
    assert cached["topologies"]["rest"]["wire"]["not_modified"] == pytest.approx(share)
    cells = wire_table(SummaryView(cached)).rows[0]
    assert cells[-1].value == pytest.approx(100 * share)


def test_comparisons_and_hop_differences_are_of_the_pair(summary):
    assert {(row["left"], row["right"]) for row in summary["comparisons"]} == {("rest", "hybrid")}
    assert {row["metric"] for row in summary["comparisons"]} == {"mean", "p50", "p90", "p95", "p99", "cpu_ms"}
    assert summary["hop_differences"][0]["journey"] == "all"


def test_the_order_of_rows_changes_nothing(run, summary):
    shuffled = {"fraction": 1.0, "shuffle": True, "seed": 1}
    mixed = replace(run, journeys=run.journeys.sample(**shuffled), hops=run.hops.sample(**shuffled))
    again = analyse(mixed, name="night")
    for one, other in zip(again["comparisons"], summary["comparisons"], strict=True):
        assert (one["journey"], one["metric"], one["verdict"]) == (other["journey"], other["metric"], other["verdict"])
        assert one["difference"] == pytest.approx(other["difference"], rel=1e-9)
    for one, other in zip(again["hop_differences"], summary["hop_differences"], strict=True):
        assert one["difference_ms"] == pytest.approx(other["difference_ms"], rel=1e-9)


def test_rows_of_a_topology_are_slices_of_the_runs_table_where_every_journey_ended_ok(run):
    ok = replace(run, journeys=run.journeys.with_columns(outcome=pl.lit("ok")))
    mixed = run.hops.sample(fraction=1, shuffle=True, seed=1)
    outcome = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("server")).otherwise(pl.lit("ok"))
    one_failed = run.journeys.with_columns(outcome=outcome)
    for some, rows in ((ok, run.hops), (ok, mixed), (replace(run, journeys=one_failed), run.hops)):
        sampled = some.journeys.filter((pl.col("outcome") == "ok") & pl.col("sampled"))["trace_id"]
        for topology, own in of_ok(some, rows).items():
            wanted = rows.filter((pl.col("topology") == topology) & pl.col("trace_id").is_in(sampled.implode()))
            assert own.equals(wanted)
    own = of_ok(ok, run.hops)[run.topologies[0]]
    assert select_rows(own, own["block"] > 0) is own


def test_failed_journeys_have_no_latency_and_no_hops(run):
    outcome = pl.when(pl.col("journey") == "login").then(pl.lit("server")).otherwise("outcome")
    failed = replace(run, journeys=run.journeys.with_columns(outcome=outcome))
    found = analyse(failed, name="night")
    cell = found["topologies"]["rest"]["journeys"]["login"]
    assert set(cell["latency_ms"].values()) == {None}
    assert cell["latency_ci95"]["p99"] == [None, None]
    assert cell["errors"]["server"] == cell["count"]
    assert cell["traces"] == 0
    assert "login" not in {row["journey"] for row in found["hop_differences"]}
    rows = [row for row in found["comparisons"] if row["journey"] == "login"]
    assert {row["verdict"] for row in rows} <= {"unknown"}


def test_a_bench_has_intervals_within_its_trial_and_compares_nothing(make_run):
    run = make_run(topologies=["hybrid"], blocks=1, journeys_per_trial=500)
    found = analyse(run, name="hybrid")
    assert (found["kind"], found["comparisons"], found["hop_differences"]) == ("bench", [], [])
    assert None not in found["topologies"]["hybrid"]["journeys"]["all"]["latency_ci95"]["p90"]
    assert found["observer_effect_ms"]["ci95"][0] < found["observer_effect_ms"]["p50"]
    assert found["topologies"]["hybrid"]["cost"]["total"]["ci95"] == [None, None]


def test_one_block_of_several_topologies_shows_figures_and_says_why_no_more(make_run):
    run = make_run(topologies=["rest", "grpc"], blocks=1, journeys_per_trial=200)
    found = analyse(run, name="one")
    assert {row["verdict"] for row in found["comparisons"]} == {"unknown"}
    assert {row["reason"] for row in found["comparisons"]} == {"needs 3 blocks, and there is 1"}
    assert all(row["ci95"] == [None, None] for row in found["hop_differences"])


def test_the_least_exact_source_of_resources_counts(run, summary):
    assert "resources_from" not in summary
    origins = [{"source": "kubelet", "resolution_s": 10.0 + number} for number in range(len(run.trials))]
    origins[2] = {"source": "metrics API", "resolution_s": 15.5}
    trials = [{**row, "resources_from": origin} for row, origin in zip(run.trials, origins, strict=True)]
    counted = analyse(replace(run, trials=trials), name="night")
    assert counted["resources_from"] == {"source": "kubelet and metrics API", "resolution_s": 15.5}


def test_files_that_contradict_each_other_are_refused(run):
    fewer = replace(run, journeys=run.journeys.filter((pl.col("block") != 2) | (pl.col("topology") != "rest")))
    with pytest.raises(MalformedRunError, match="list different trials: block 2 of rest"):
        analyse(fewer, name="night")
    manifest = {**run.manifest, "topologies": {**run.manifest["topologies"], "graphql": {}}}
    with pytest.raises(MalformedRunError, match="there is no trial of graphql"):
        analyse(replace(run, manifest=manifest), name="night")


def test_a_block_that_lacks_a_topology_counts_for_the_other_only(run):
    kept = (pl.col("block") != 3) | (pl.col("topology") != "hybrid")
    trials = [row for row in run.trials if (row["block"], row["topology"]) != (3, "hybrid")]
    short = replace(run, trials=trials, journeys=run.journeys.filter(kept), hops=run.hops.filter(kept))
    found = analyse(short, name="night")
    assert found["topologies"]["rest"]["journeys"]["all"]["latency_ci95"]["p50"][0] is not None
    assert {row["reason"] for row in found["comparisons"]} == {"needs 3 blocks, and there are 2"}
