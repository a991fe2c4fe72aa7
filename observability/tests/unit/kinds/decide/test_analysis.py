"""Which topology to choose after a run, for made-up runs whose true values are known."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil

import polars as pl
import pytest

from hops.analysis.distance import at_channels
from hops.analysis.travel import travel_of
from hops.errors import NotEnoughDataError
from hops.kinds import analyse
from hops.kinds.decide.analysis import Customers, decide
from hops.run.files import SAMPLE_FILE, read_run, trial_folder
from hops.run.network import NAMED
from synthetic.run import write_generated_run
from synthetic.shop import JOURNEY_SHAPES

OWN = Customers("default", None, {})


def run_of(tmp_path, *topologies, **options):
    return write_generated_run(tmp_path / "run", topologies=topologies, **options)


@functools.cache
def analysed(folder):
    run = read_run(folder)
    return run, analyse(run, name="made-up")


def decide_for(folder, customers=OWN):
    return decide(*analysed(folder), customers)


def answer(decision, channel):
    return next(one for one in decision["answers"] if one["channel"] == channel)


@pytest.fixture(scope="module")
def rest_and_hybrid(tmp_path_factory):
    """Without distance rest is faster, as it has no gateway; a partner's journeys need two round trips with rest."""
    return run_of(tmp_path_factory.mktemp("run"), "hybrid", "rest", journeys_per_trial=600)


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """Two topologies that behave alike."""
    return run_of(tmp_path_factory.mktemp("run"), "hybrid", "twin", journeys_per_trial=400, seed=2)


def test_without_other_customers_the_figures_are_those_of_the_summary(rest_and_hybrid):
    _, summary = analysed(rest_and_hybrid)
    decision = decide_for(rest_and_hybrid)
    for name, figures in summary["topologies"].items():
        quickest = answer(decision, "all")["quickest"]["values"][name]
        assert quickest["value"] == pytest.approx(figures["journeys"]["all"]["latency_ms"]["p50"])
        assert quickest["ci95"] == pytest.approx(figures["journeys"]["all"]["latency_ci95"]["p50"])
        assert decision["cheapest"]["values"][name] == figures["cost"]["total"]


def test_a_topology_is_the_quickest_and_the_cheapest_where_that_is_shown(rest_and_hybrid):
    decision = decide_for(rest_and_hybrid)
    assert [one["channel"] for one in decision["answers"]] == ["mobile", "partner", "web", "all"]
    assert all(one["quickest"]["lowest"] == ["rest"] for one in decision["answers"])
    (behind,) = answer(decision, "all")["quickest"]["behind"]
    assert behind["topology"] == "hybrid"
    assert behind["shown"]
    assert behind["ci95"][0] > 0
    assert decision["cheapest"]["lowest"] == ["rest"]
    assert decision["unanswered"] == []


def test_topologies_between_which_nothing_is_shown_are_named_together(alike):
    decision = decide_for(alike)
    for one in decision["answers"]:
        assert sorted(one["quickest"]["lowest"]) == ["hybrid", "twin"]
        assert one["to_turn"] is None
        assert not one["quickest"]["behind"][0]["shown"]
    assert sorted(decision["cheapest"]["lowest"]) == ["hybrid", "twin"]


def test_a_channel_s_own_network_flips_only_its_ranking(rest_and_hybrid):
    decision = decide_for(rest_and_hybrid, Customers("default", None, {"partner": NAMED["4g"]}))
    partner, web = answer(decision, "partner"), answer(decision, "web")
    assert partner["network"]["name"] == "4g"
    assert partner["quickest"]["lowest"] == ["hybrid"]
    assert web["network"]["name"] == "loopback"
    assert web["quickest"]["lowest"] == ["rest"]
    assert answer(decision, "all")["network"] is None
    assert [one["predicted"] for one in (partner, web, answer(decision, "all"))] == [True, False, True]


def test_the_figures_at_each_channel_s_network_are_those_that_the_summary_predicts(rest_and_hybrid):
    run, _ = analysed(rest_and_hybrid)
    networks = {"web": NAMED["wifi"], "mobile": NAMED["4g"], "partner": NAMED["lan"]}
    decision = decide_for(rest_and_hybrid, Customers("default", None, networks))
    predicted = at_channels({name: travel_of(run, name) for name in run.topologies}, networks)
    for channel in (*networks, "all"):
        for name, estimate in answer(decision, channel)["quickest"]["values"].items():
            assert estimate["value"] == pytest.approx(predicted[channel]["p50_ms"]["all"][name]["value"])
            assert estimate["ci95"] == pytest.approx(predicted[channel]["p50_ms"]["all"][name]["ci95"])


def test_round_trips_are_named_where_they_are_what_a_topology_loses_by(rest_and_hybrid):
    decision = decide_for(rest_and_hybrid, Customers("default", None, {"partner": NAMED["4g"]}))
    turn = answer(decision, "partner")["to_turn"]
    assert (turn["topology"], turn["quickest"], turn["part"]) == ("rest", "hybrid", "network")
    assert turn["more_ms"]["value"] == pytest.approx(70, abs=1)
    assert turn["round_trips"] == [2, 1]
    assert turn["enough"]


def test_the_hop_that_carries_the_difference_is_named_and_not_a_larger_one_that_both_have(tmp_path):
    delays = {"hybrid": {"db:product": 20.0}, "slow": {"db:product": 22.0, "work:graphql-gateway": 8.0}}
    folder = run_of(tmp_path, "hybrid", "slow", journeys_per_trial=400, delays_ms=delays)
    turn = answer(decide_for(folder), "web")["to_turn"]
    assert (turn["topology"], turn["part"]) == ("slow", "work:graphql-gateway")
    assert turn["more_ms"]["ci95"][0] < 8 < turn["more_ms"]["ci95"][1]
    assert turn["by_ms"]["value"] == pytest.approx(10, abs=1)


def test_no_hop_alone_flips_a_ranking_that_two_hops_make(tmp_path):
    delays = {"slow": {"work:graphql-gateway": 8.0, "wire:edge→graphql-gateway": 8.0}}
    folder = run_of(tmp_path, "hybrid", "slow", journeys_per_trial=400, delays_ms=delays)
    turn = answer(decide_for(folder), "web")["to_turn"]
    assert turn["part"] in delays["slow"]
    assert not turn["enough"]


def test_one_network_for_all_is_that_of_the_mix_too(rest_and_hybrid):
    networks = dict.fromkeys(("web", "mobile", "partner"), NAMED["lan"])
    assert answer(decide_for(rest_and_hybrid, Customers("default", None, networks)), "all")["network"]["name"] == "lan"


def test_another_mix_of_one_journey_has_that_journey_s_figures(rest_and_hybrid):
    _, summary = analysed(rest_and_hybrid)
    mix = {("browse", "web"): 3.0, ("login", "mobile"): 0.0}
    decision = decide_for(rest_and_hybrid, Customers("browse", mix, {}))
    (only,) = decision["answers"]
    assert only["channel"] == "web"
    for name, value in only["quickest"]["values"].items():
        browse = summary["topologies"][name]["journeys"]["browse"]
        assert value["value"] == pytest.approx(browse["latency_ms"]["p50"])
        assert value["ci95"] == pytest.approx(browse["latency_ci95"]["p50"])
    assert decision["mix"] == [{"journey": "browse", "channel": "web", "share": 1.0}]
    assert not decision["own_mix"]


def test_another_mix_reweights_the_journeys(tmp_path):
    """`twin` is slow when an order is read; the median shows that only if most customers read orders."""
    delays = {"twin": {"work:order": 40.0}}
    folder = run_of(tmp_path, "hybrid", "twin", journeys_per_trial=400, delays_ms=delays)
    mixes = {weight: {("browse", "web"): 10.0, ("order_history", "web"): weight} for weight in (1.0, 100.0)}
    few, many = (answer(decide_for(folder, Customers("orders", mix, {})), "web") for mix in mixes.values())
    assert few["quickest"]["values"]["twin"]["value"] < 20
    assert many["quickest"]["lowest"] == ["hybrid"]
    assert many["quickest"]["behind"][0]["value"] == pytest.approx(40, abs=5)


def test_an_unmeasured_journey_is_named_with_the_measured_ones(rest_and_hybrid):
    mix = {("browse", "web"): 1.0, ("browse", "partner"): 1.0}
    with pytest.raises(
        NotEnoughDataError, match="the workload odd has browse/partner, which run did not measure"
    ) as no:
        decide_for(rest_and_hybrid, Customers("odd", mix, {}))
    assert "it measured browse/web, bulk_lines/partner" in str(no.value)


def decide_with_bytes(folder, copy, wire_in):
    """Decides by a copy of a run in which several journeys of each kind were sent alone, with these bytes."""
    shutil.copytree(folder, copy)
    for file in copy.rglob(SAMPLE_FILE):
        file.unlink()
    for name, sizes in wire_in.items():
        lines = [
            {"journey": journey, "channel": shape.channel, "wire_in": size, "wire_out": 100}
            for size in sizes
            for journey, shape in JOURNEY_SHAPES.items()
        ]
        file = copy / trial_folder(name) / SAMPLE_FILE
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return decide(read_run(copy), analysed(folder)[1], OWN)


def test_the_fewest_bytes_are_shown_by_the_same_sampled_journeys(rest_and_hybrid, tmp_path):
    sizes = {"hybrid": (500, 508, 516), "rest": (503, 511, 519)}
    fewest = answer(decide_with_bytes(rest_and_hybrid, tmp_path / "run", sizes), "all")["fewest_bytes"]
    assert fewest["lowest"] == ["hybrid"]
    assert fewest["values"]["hybrid"]["value"] == pytest.approx(608)
    low, high = fewest["values"]["hybrid"]["ci95"]
    assert low < 608 < high
    assert fewest["behind"][0]["value"] == pytest.approx(3)


def test_bytes_that_are_now_more_and_now_less_show_nothing(rest_and_hybrid, tmp_path):
    sizes = {"hybrid": (500, 508, 516), "rest": (506, 504, 517)}
    fewest = answer(decide_with_bytes(rest_and_hybrid, tmp_path / "run", sizes), "all")["fewest_bytes"]
    assert fewest["lowest"] == ["hybrid", "rest"]
    assert fewest["behind"][0]["reason"] is None


def test_bytes_of_a_single_sampled_journey_show_nothing(rest_and_hybrid):
    fewest = answer(decide_for(rest_and_hybrid), "all")["fewest_bytes"]
    assert sorted(fewest["lowest"]) == ["hybrid", "rest"]
    assert "needs 2 sampled journeys" in fewest["behind"][0]["reason"]


def test_bytes_that_no_sample_counted_are_reported_as_unknown(rest_and_hybrid, tmp_path):
    decision = decide_with_bytes(rest_and_hybrid, tmp_path / "run", {"hybrid": (500, 508)})
    assert list(answer(decision, "all")["fewest_bytes"]["values"]) == ["hybrid"]
    assert decision["unanswered"] == ["bytes of rest: no sample counted those of every journey in the mix"]


def test_too_few_blocks_show_nothing(tmp_path):
    folder = run_of(tmp_path, "hybrid", "rest", blocks=2, journeys_per_trial=400)
    found = decide_for(folder)
    assert all(len(one["quickest"]["lowest"]) == 2 for one in found["answers"])
    assert found["unanswered"] == ["whether any difference is more than chance: the run has 2 blocks, and that needs 3"]


def test_one_topology_leaves_nothing_to_choose(tmp_path):
    folder = run_of(tmp_path, "hybrid", blocks=3, journeys_per_trial=400)
    decision = decide_for(folder)
    assert answer(decision, "all")["quickest"]["lowest"] == ["hybrid"]
    assert decision["unanswered"] == ["which topology: the run measured only one, hybrid"]


def test_a_channel_without_a_journey_is_reported_as_unknown(rest_and_hybrid):
    customers = Customers("web", {("browse", "web"): 1.0}, {"web": NAMED["wifi"], "mobile": NAMED["4g"]})
    (unanswered,) = decide_for(rest_and_hybrid, customers)["unanswered"]
    assert unanswered == "mobile: no journey of the mix comes through this channel"


def test_every_figure_names_its_files_and_they_are_there(rest_and_hybrid):
    decision = decide_for(rest_and_hybrid)
    named = [source for one in decision["answers"] for source in one["quickest"]["source"]]
    named += [source for one in decision["answers"] for source in one["fewest_bytes"]["source"]]
    named += [source for one in decision["answers"] for source in one["to_turn"]["source"]]
    assert named
    for source in named:
        assert list(rest_and_hybrid.glob(source.partition(":")[0]))


def test_a_run_whose_journeys_all_failed_decides_nothing(rest_and_hybrid):
    run, summary = analysed(rest_and_hybrid)
    failed = dataclasses.replace(run, journeys=run.journeys.with_columns(outcome=pl.lit("server")))
    with pytest.raises(NotEnoughDataError, match="run: no journey ended ok for"):
        decide(failed, summary, Customers("default", None, {}))
