"""A run with a requested precision: all of its intervals account for the number of blocks that decided its length."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hops.analysis.latencies import Latencies
from hops.analysis.precision import Decided, decide, half_widths, precision_of
from hops.conclusions.notes import precision_sentence, validity_sentences
from hops.elements.compared import TOPOLOGY
from hops.kinds import analyse
from hops.kinds.decide.analysis import Customers
from hops.kinds.decide.analysis import decide as decide_for
from hops.kinds.two_runs.analysis import compare_runs
from hops.run.files import MANIFEST, read_run
from hops.statistics.intervals import t_quantile
from synthetic.experiment import Noise
from synthetic.run import write_generated_run

BLOCKS, FIRST = 8, 3
RULE = {"asked": 0.05, "first_stage": FIRST, "ran": BLOCKS, "scatter": 0.04, "needed": BLOCKS}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same run, once with a fixed number of blocks, and once with a number derived from its first three blocks."""
    folder = tmp_path_factory.mktemp("run")
    write_generated_run(
        folder, topologies=["rest", "hybrid"], blocks=BLOCKS, journeys_per_trial=400, noise=Noise(trial=0.05), seed=2
    )
    fixed = read_run(folder)
    (folder / MANIFEST).write_text(json.dumps({**fixed.manifest, "precision": RULE}))
    return fixed, read_run(folder)


@pytest.fixture(scope="module")
def summaries(runs):
    return [analyse(run, name="night") for run in runs]


def widths(summary):
    """Returns the total width of the intervals of each kind of figure."""
    topologies = summary["topologies"].values()
    ends = {
        "latencies": [one["journeys"]["all"]["latency_ci95"]["p50"] for one in topologies],
        "costs": [one["cost"]["total"]["ci95"] for one in topologies],
        "comparisons": [row["ratio_ci95"] for row in summary["comparisons"] if row["metric"] == "p50"],
        "cpu": [row["ratio_ci95"] for row in summary["comparisons"] if row["metric"] == "cpu_ms"],
        "hop differences": [row["ci95"] for row in summary["hop_differences"]],
        "parts": [part["ci95"] for row in summary["hop_differences"] for part in row["parts"]],
        "distance": [ends for row in summary["distance"]["journeys"].values() for ends in row["curves_ci95"]["rest"]],
        "networks": [one["rest"]["ci95"] for one in summary["distance"]["named"]["4g"]["p50_ms"].values()],
    }
    return {name: [high - low for low, high in rows if low is not None] for name, rows in ends.items()}


def test_every_interval_over_blocks_takes_the_scatter_of_the_first_stage_into_account(summaries):
    fixed, decided = (widths(summary) for summary in summaries)
    for name, of_fixed in fixed.items():
        assert len(of_fixed) == len(decided[name]) > 0, name
        assert all(mine >= other * (1 - 1e-9) for mine, other in zip(decided[name], of_fixed, strict=True)), name
        # Student's t with two degrees of freedom is nearly twice as large as with seven.
        assert sum(decided[name]) > 1.05 * sum(of_fixed), name


def test_p_values_are_no_smaller_than_with_a_fixed_number_of_blocks(summaries):
    fixed, decided = ([row["p"] for row in one["comparisons"] if row["metric"] == "p50"] for one in summaries)
    assert all(mine >= other for mine, other in zip(decided, fixed, strict=True))


def test_a_decision_and_two_runs_have_it_too(runs, summaries):
    customers = Customers("default", None, {})
    ends = [
        decide_for(run, summary, customers)["answers"][-1]["quickest"]["values"]["rest"]["ci95"]
        for run, summary in zip(runs, summaries, strict=True)
    ]
    assert ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1]
    rows = [[row["ratio_ci95"] for row in compare_runs(run, run)["rows"] if row["metric"] == "p50"] for run in runs]
    spans = [sum(high - low for low, high in of_run if low is not None) for of_run in rows]
    assert spans[1] > 1.05 * spans[0]


def test_the_summary_says_what_was_asked_and_what_was_reached(summaries):
    fixed, decided = summaries
    assert "precision" not in fixed
    assert decided["precision"] == {
        "asked": 0.05, "first_stage": FIRST, "scatter": 0.04, "needed": BLOCKS,
        "reached": pytest.approx(math.expm1(half_widths(decided["comparisons"])[0])), "met": True,
    }  # fmt: skip


@pytest.mark.parametrize(("needed", "met"), [(BLOCKS + 1, False), (None, False), (BLOCKS, True)])
def test_a_precision_is_met_if_as_many_blocks_ran_as_it_takes(runs, summaries, needed, met):
    run = runs[1]
    run.manifest["precision"] = {**RULE, "needed": needed}
    assert precision_of(run, summaries[1]["comparisons"])["met"] is met
    run.manifest["precision"] = RULE


def test_sentences_say_it(summaries):
    (sentence,) = [text for text in validity_sentences(summaries[1]) if "precision" in text]
    reached = f"{100 * summaries[1]['precision']['reached']:.1f} %"
    assert sentence == (
        "A precision of 5.0 % was requested, and 8 blocks reached it. The widest 95 % interval of a ratio of two "
        f"topologies' p50, over all journeys, reaches {reached} beyond the ratio."
    )
    missed = {**summaries[1]["precision"], "needed": 312, "met": False, "reached": 0.111}
    assert precision_sentence(missed, 10, TOPOLOGY) == (
        "A precision of 5.0 % was requested and NOT REACHED: trials scatter by 4.0 %, so it takes 312 blocks, more "
        "than can be run. 10 blocks ran. The widest 95 % interval of a ratio of two topologies' p50, over all "
        "journeys, reaches 11.1 % beyond the ratio."
    )
    unknown = {**missed, "scatter": None, "needed": None}
    assert "it is not known how many blocks it takes: a pair of topologies has no interval" in precision_sentence(
        unknown, 10, TOPOLOGY
    )


def latencies(deviations, first):
    """Makes two topologies whose p50 differ by these deviations in the blocks."""
    rows = np.linspace(9, 11, 21)
    cells = [{block: rows * math.exp(off) for block, off in enumerate(side, 1)} for side in (deviations, [0.0] * 99)]
    return {
        name: Latencies({"all": dict(list(cell.items())[: len(deviations)]), "browse": cell}, first)
        for name, cell in zip(("rest", "grpc"), cells, strict=True)
    }


def test_a_first_stage_decides_by_the_widest_ratio():
    decided = decide(latencies([0.05, -0.05, 0.05, -0.05, 0.0], 5), 0.05, 5)
    half_width = t_quantile(4) * 0.05 / math.sqrt(5)
    needed = math.ceil(5 * (half_width / math.log(1.05)) ** 2)
    assert decided == Decided(0.05, 5, 5, pytest.approx(0.05 / math.sqrt(2), rel=0.01), needed)
    assert decided.blocks(100) == needed
    assert decided.blocks(needed - 1) == 5


def test_later_blocks_can_ask_for_more_and_never_for_fewer():
    calm = decide(latencies([0.05, -0.05, 0.05, -0.05, 0.0, *[0.0] * 10], 5), 0.05, 15)
    assert calm.needed == calm.ran == 15
    restless = decide(latencies([0.05, -0.05, 0.05, -0.05, 0.0, *[0.2, -0.2] * 5], 5), 0.05, 15)
    assert restless.needed > 15
    assert restless.scatter > calm.scatter


def test_without_an_interval_nothing_is_decided():
    assert decide(latencies([0.0, 0.0], 2), 0.05, 2) == Decided(0.05, 2, 2, None, None)
    assert decide(latencies([0.0, 0.0], 2), 0.05, 2).blocks(100) == 2


def test_a_topology_that_hardly_answers_is_compared_over_as_many_sections():
    sides = latencies([0.05, 0.03, -0.02, -0.05, 0.01, 0.04, -0.04, -0.03, 0.02, -0.01], 10)
    sides["grpc"].cells["all"].update({block: rows[:2] for block, rows in sides["grpc"].cells["all"].items()})
    assert decide(sides, 0.5, 10).needed == 10


def test_a_block_in_which_a_topology_answered_nothing_does_not_count():
    sides = latencies([0.05, -0.05, 0.05, -0.05, 0.0, 0.0], 5)
    del sides["grpc"].cells["all"][6]
    # The other five blocks give the same result as if the empty block did not exist.
    alone = decide(latencies([0.05, -0.05, 0.05, -0.05, 0.0], 5), 0.05, 5)
    decided = decide(sides, 0.05, 6)
    assert (decided.ran, decided.needed) == (6, alone.needed + 1)
    assert decided.scatter == pytest.approx(alone.scatter)
    # A precision that these five blocks reach counts as reached, and no block that ran is dropped.
    assert decide(sides, 0.5, 6).blocks(100) == 6
