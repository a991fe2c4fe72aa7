"""Sentences agree with the figures, name the sides in the right order, and claim nothing else."""

from __future__ import annotations

import pytest

from hops.analysis.either_order import Pairs, mirror, mirror_hops
from hops.conclusions.comparison import answer_title, grouped_conclusions, standing
from hops.conclusions.notes import load_sentences, verdict_sentence
from hops.elements.element import Text
from hops.elements.numbers import decimals_for, figure
from hops.tables.conclusion import conclusion_elements
from hops.tables.view import SummaryView
from hops.terminal.comparison import compare

from ..report.pages import print_view
from . import summaries as made

MEDIANS = {"rest": 13.1, "hybrid": 10.0}
SLOW_REST = made.comparison("order_history", "p50", "rest", "hybrid", (13.1, 10.0), [2.7, 3.6], 0.004, "right_lower")
PARTS = [made.part("client wire", 5.0, 2.6), made.part("services", 4.0, 3.2), made.part("gateways", 0.0, 0.2, 0.1)]
ROUND_TRIPS = made.split("order_history", "rest", "hybrid", PARTS)


def conclusions(summary):
    """Returns all sentences, in sequence."""
    grouped = grouped_conclusions(summary)
    inside = [text for texts in grouped.journeys.values() for text in texts]
    about_all = [*grouped.headline, *grouped.context, *grouped.mix]
    return [*about_all, *inside, *grouped.cost, *grouped.doubts, *grouped.validity]


@pytest.mark.parametrize(
    ("verdict", "compared", "title"),
    [
        ("right_lower", "topology", "hybrid has the lowest median over the whole mix next to the shop"),
        ("right_lower", "target", "hybrid has the lowest median over the whole mix without distance"),
        ("not_shown", "topology", "hybrid and rest are equally fast next to the shop, as far as this run can tell"),
        ("unknown", "topology", ""),
    ],
)
def test_a_title_says_which_is_the_fastest_and_where(verdict, compared, title):
    row = made.comparison("all", "p50", "rest", "hybrid", (13.1, 10.0), [2.7, 3.6], 0.004, verdict, "too few")
    assert answer_title(made.summary(MEDIANS, [row]) | {"compared": compared}) == title


def test_a_lead_reads_from_the_faster_side_in_any_order_of_the_row():
    for row, hops in ((SLOW_REST, ROUND_TRIPS), (mirror(SLOW_REST), mirror_hops(ROUND_TRIPS))):
        found = grouped_conclusions(made.summary(MEDIANS, [row], [hops], waves={"rest": 2.0, "hybrid": 1.0}))
        assert found.journeys["order_history"][0] == (
            "hybrid answers order_history 3.1 ms (2.7 to 3.6) faster than rest at p50, p = 0.004 after "
            "correction. Of the 3.0 ms between their means, 2.4 ms (2.1 to 2.7) is the wire from the client "
            "and 0.8 ms (0.5 to 1.1) the services' work. It makes 1 round trip instead of 2."
        )


def two(metric, values, ends, p, verdict, **more):
    return made.comparison("order_history", metric, "a", "b", values, ends, p, verdict, **more)


def explain(*parts, sides=("rest", "hybrid"), **more):
    return made.split("order_history", *sides, [made.part(*part) for part in parts], **more)


@pytest.mark.parametrize(
    ("row", "hops", "texts"),
    [
        (two("p50", (10.0, 25.0), [-16.0, -14.0], 0.0002, "left_lower"), [],
         ["a answers order_history 15.0 ms (14.0 to 16.0) faster than b at p50, p < 0.001",
          "b takes 2.5 times (2.3 to 2.8) as long"]),
        (two("p50", (10.0, 12.0), [-2.5, -1.5], 0.01, "left_lower"),
         [explain(("client wire", 1.0, 5.0), ("gateways", 2.0, 0.0), sides=("a", "b"))],
         ["More than the 2.0 ms between their means, 4.0 ms (3.7 to 4.3), is the wire from the client alone.",
          "partly offset by 2.0 ms (1.7 to 2.3) in the gateways' work"]),
        (SLOW_REST, [explain(("services", 4.0, 3.9), reach=2.0)], ["The traced means do not show it"]),
        (SLOW_REST, [ROUND_TRIPS | {"ci95": [None, None]}],
         ["after correction. Too few of these journeys were traced to say why."]),
        (SLOW_REST, [explain(("busy components", 4.0, 1.0))],
         ["Of the 3.0 ms between their means, 3.0 ms (2.7 to 3.3) is waiting for components that were busy"]),
        (two("p99", (39.0, 41.5), [-9.5, 4.6], 0.9, "not_shown", visible_ratio=20.74), [],
         ["−2.5 ms (−9.5 to 4.6), and this run would have seen nothing below 100 %."]),
        (two("p50", (9.0, 10.0), [-1.9, -0.1], 0.3, "not_shown"), [], ["not significant after correction (p = 0.300)"]),
    ],
    ids=["a big difference", "a group that saves more than the whole", "means that do not show it", "too few traces",
         "busy components", "a doubling that would not have been seen", "an interval without zero"],
)  # fmt: skip
def test_a_difference_comes_with_its_reason_and_its_doubts(row, hops, texts):
    values = {row["left"]: row["left_value"], row["right"]: row["right_value"]}
    text = grouped_conclusions(made.summary(values, [row], hops)).journeys["order_history"][0]
    for words in texts:
        assert words in text


def test_where_nothing_is_shown_nobody_is_called_the_fastest():
    row = made.comparison("order_history", "p50", "a", "b", (9.8, 10.0), [-0.9, 0.5], 0.6, "not_shown")
    found = grouped_conclusions(made.summary({"a": 9.8, "b": 10.0}, [row]))
    assert found.headline[0] == (
        "With no distance between customer and edge, at p50 no topology is significantly slower than the fastest, in "
        "the one journey."
    )


def test_a_missing_comparison_does_not_count_as_a_lead():
    found = grouped_conclusions(made.summary(MEDIANS, [SLOW_REST]))
    assert not any("At p99" in text for text in found.headline)


def test_what_was_not_shown_is_reported_and_not_called_equal():
    row = made.comparison(
        "order_history", "p50", "a", "b", (9.8, 10.0), [-0.9, 0.5], 0.6, "not_shown", visible_ratio=1.093
    )
    found = grouped_conclusions(made.summary({"a": 9.8, "b": 10.0}, [row]))
    assert found.journeys["order_history"][0] == (
        "For order_history there is no difference shown between a and b at p50: −0.20 ms (−0.90 to 0.50), and this run "
        "would have seen 9 %."
    )
    assert "1 of 1 comparison of two topologies in a journey shows no difference" in found.doubts[0]
    assert found.doubts[0].endswith("In them this run would have seen 9 %.")


@pytest.mark.parametrize(
    ("ratios", "seen"),
    [
        ((1.093, 1.74, 1.5), "9 % to 74 %"),
        ((1.093, 20.74, 1.5), "9 % to more than 100 %"),
        ((2.4, 20.74, 3.0), "nothing below 100 %"),
    ],
)
def test_the_range_of_what_would_have_been_seen_is_given_over_all_that_is_not_shown(ratios, seen):
    pairs = (("a", "b"), ("a", "c"), ("b", "c"))
    rows = [
        made.comparison("order_history", "p50", *pair, (9.8, 10.0), [-0.9, 0.5], 0.6, "not_shown", visible_ratio=ratio)
        for pair, ratio in zip(pairs, ratios, strict=True)
    ]
    found = grouped_conclusions(made.summary({"a": 9.8, "b": 10.0, "c": 10.1}, rows))
    assert found.doubts[0].endswith(f"In them this run would have seen {seen}.")


def test_topologies_not_shown_to_be_slower_are_with_the_fastest():
    rows = [
        made.comparison("order_history", "p50", "c", "a", (20.0, 9.0), [9, 13], 0.001, "right_lower"),
        made.comparison("order_history", "p50", "b", "a", (9.2, 9.0), [-0.1, 0.5], 0.5, "not_shown"),
        made.comparison("order_history", "p50", "b", "c", (9.2, 20.0), [-13, -9], 0.001, "left_lower"),
    ]
    summary = made.summary({"a": 9.0, "b": 9.2, "c": 20.0}, rows)
    place = standing(Pairs(summary), "order_history", "p50")
    assert place.first == ["a", "b"]
    assert [row["right"] for row in place.behind] == ["c"]
    assert "a and b are the fastest, or not significantly slower than the fastest" in conclusions(summary)[0]


def test_one_block_concludes_nothing_and_shows_the_figures():
    reason = "needs 3 blocks, and there is 1"
    row = made.comparison("order_history", "p50", "a", "b", (9.0, 12.0), [None, None], None, "unknown", reason)
    summary = made.summary({"a": 9.0, "b": 12.0}, [row], blocks=1)
    found = grouped_conclusions(summary)
    assert found.headline[0].startswith("No conclusions about differences: there is 1 block")
    assert "faster" not in " ".join(conclusions(summary))
    assert "a 9.0 ms" in found.journeys["order_history"][0]
    texts = [element.text for element in conclusion_elements(SummaryView(summary)) if isinstance(element, Text)]
    assert not any("no difference" in text for text in texts)


def test_a_metric_that_could_not_be_tested_names_the_reason():
    why = "needs 200 journeys in a block, and there are 70"
    untested = made.comparison("order_history", "p99", "rest", "hybrid", (52, 40), [None, None], None, "unknown", why)
    found = grouped_conclusions(made.summary(MEDIANS, [SLOW_REST, untested]))
    assert not any("p99" in text for text in found.journeys["order_history"])
    assert "Not tested at p99: order_history (needs 200 journeys in a block, and there are 70)." in found.doubts


def test_one_journey_has_enough_data():
    why = "needs 200 journeys in a block, and there are 70"
    summary = made.summary(MEDIANS, [SLOW_REST])
    for one in summary["topologies"].values():
        one["journeys"]["product"] = one["journeys"]["order_history"]
    summary["comparisons"].append(
        made.comparison("product", "p50", "rest", "hybrid", (52, 40), [None, None], None, "unknown", why)
    )
    assert "in the one journey (of 2) that has enough data" in grouped_conclusions(summary).headline[0]


def test_a_run_whose_trials_pass_their_gates_fails_as_a_whole():
    summary = made.summary(MEDIANS, [SLOW_REST], valid=False)
    summary["verdicts"] = [{**row, "reasons": []} for row in summary["verdicts"]]
    assert "Each trial passes its gates, but the run as a whole does not: " in verdict_sentence(summary)


def test_pairs_that_could_not_be_tested_are_counted_among_those_of_their_journey():
    why = "needs 3 blocks, and there are 2"
    pairs = [("rest", "grpc"), ("hybrid", "grpc")]
    untested = [
        made.comparison(journey, metric, *pair, (52, 40), [None, None], None, "unknown", why)
        for pair in pairs
        for journey, metric in (("order_history", "p50"), ("order_history", "cpu_ms"), ("all", "cpu_ms"))
    ]
    found = grouped_conclusions(made.summary({**MEDIANS, "grpc": 12.0}, [SLOW_REST, *untested]))
    assert found.doubts[-2:] == [
        f"Not tested at p50: 2 of 3 pairs in order_history ({why}).",
        f"Not tested for CPU time: order_history and all journeys ({why}).",
    ]


def test_an_untested_pair_is_named_with_the_tested_ones():
    why = "needs 3 blocks, and there are 2"
    untested = made.comparison("order_history", "p50", "hybrid", "grpc", (10, 12), [None, None], None, "unknown", why)
    found = grouped_conclusions(made.summary({"rest": 13.1, "hybrid": 10.0, "grpc": 12.0}, [SLOW_REST, untested]))
    assert found.journeys["order_history"][-1] == (
        "For order_history, p50 was not tested against grpc: it needs 3 blocks, and there are 2. "
        "The lowest figure is 10.0 ms, of hybrid."
    )


def test_the_first_sentence_of_a_noisy_run_says_so_and_no_other_one():
    summary = made.summary(MEDIANS, [SLOW_REST], [ROUND_TRIPS], valid=False)
    first, *others = conclusions(summary)
    assert first.startswith("NOISY: With no distance between customer and edge, at p50 hybrid")
    assert len(others) > 4
    assert not any("NOISY" in text for text in others)
    verdict = "NOISY: CPU steal. 2 of 2 trials fail a gate: answers and budgets are right"
    assert verdict_sentence(summary).startswith(verdict)


def test_a_valid_run_says_so():
    summary = made.summary(MEDIANS, [SLOW_REST])
    assert verdict_sentence(summary) == "VALID: every gate holds, in 2 trials."
    assert not any("NOISY" in text for text in conclusions(summary))


def test_repeated_trials_do_not_count_among_the_valid_ones():
    summary = made.summary(MEDIANS, [SLOW_REST])
    first = next(row for row in summary["verdicts"] if row["topology"] is not None)
    summary["verdicts"].append(first | {"used": False, "verdict": "NOISY", "reasons": ["steal_share"]})
    assert verdict_sentence(summary) == "VALID: every gate holds, in 2 trials; 1 was repeated."


def test_a_machine_that_changed_its_speed_is_reported():
    sentence = "in block 1 of rest a fixed piece of work took 1.6 times as long as in its fastest trial"
    steady, slowed = (
        conclusions(made.summary(MEDIANS, [SLOW_REST], speeds={"rest": rest, "hybrid": 1.0})) for rest in (0.93, 0.63)
    )
    assert not any("equally fast" in text for text in steady)
    assert any(sentence in text for text in slowed)


@pytest.mark.parametrize(
    ("machines", "sentence"),
    [
        (
            {"rest": 0.33, "hybrid": 0.61},
            "At 20.0 journeys a second, hybrid used 61 % of this machine's processors and rest 33 %.",
        ),
        ({"rest": None, "hybrid": None}, None),
        ({"hybrid": 0.61}, "At 20.0 journeys a second, hybrid used 61 % of this machine's processors."),
    ],
    ids=["both", "processors not counted", "one topology"],
)
def test_how_far_from_saturation_the_run_was_is_reported(machines, sentence):
    component = {"component": "graphql-gateway", "core": 0.48}
    summary = made.summary(dict.fromkeys(machines, 10.0), [])
    summary["in_use"] = {name: {"machine": machine, **component} for name, machine in machines.items()}
    *machine, busiest = load_sentences(summary)
    assert machine == ([] if sentence is None else [sentence])
    where = " in rest" if len(machines) > 1 else ""
    assert busiest == f"The busiest single component was graphql-gateway{where}, with 48 % of one processor."
    assert conclusions(summary).count(busiest) == 1


def test_a_closed_loop_says_what_that_does():
    closed = {"vus": 5, "think_s": 0.1}
    texts = conclusions(made.summary(MEDIANS, [SLOW_REST], closed=closed))
    assert any("closed loop" in text for text in texts)


def test_one_topology_alone_is_described():
    assert conclusions(made.summary({"rest": 10.0}, []))[0] == (
        "With no distance between customer and edge, rest answers half of all journeys within 10.0 ms (9.0 to 11.0), "
        "and 99 % within 40.0 ms (36.0 to 44.0)."
    )


def test_cost_comes_with_its_interval():
    cost = grouped_conclusions(made.summary({"rest": 12.0, "hybrid": 8.0}, [SLOW_REST])).cost[0]
    assert cost.startswith("A million journeys cost 2.0 core-hours (1.6 to 2.7) with hybrid and 3.0 core-hours")


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (3.1, [2.7, 3.6], "3.1 ms (2.7 to 3.6)"),
        (1.2, [0.04, 2.3], "1.20 ms (0.04 to 2.30)"),
        (123.4, [110.2, 130.9], "123 ms (110 to 131)"),
        (0.05, [None, None], "0.050 ms"),
        (5.0, [4.0, None], "5.0 ms (4.0 to …)"),
    ],
)
def test_a_figure_and_its_interval_have_the_same_decimals(value, ends, text):
    assert figure(value, ends, "ms") == text


def test_no_end_that_is_not_zero_reads_as_zero():
    assert decimals_for([2.0, 0.00004, 4.0]) == 5
    assert decimals_for([0.0, 0.0]) == 0


def test_mirroring_twice_changes_nothing():
    twice = mirror(mirror(SLOW_REST))
    assert twice["ratio_ci95"] == pytest.approx(SLOW_REST["ratio_ci95"])
    assert (twice["left"], twice["ci95"], twice["verdict"]) == ("rest", [2.7, 3.6], "right_lower")
    assert mirror_hops(mirror_hops(ROUND_TRIPS)) == ROUND_TRIPS


@pytest.mark.parametrize("width", [80, 110])
def test_the_terminal_view_fits_and_says_everything_without_colour(width):
    summary = made.summary(MEDIANS, [SLOW_REST], [ROUND_TRIPS], valid=False)
    text = print_view(compare(summary), width)
    assert max(map(len, text.splitlines())) <= width
    for words in ("What this run says", "rest", "Core-hours", "NOISY: block 1, rest: CPU steal.", "FAILS"):
        assert words in text


def test_slowed_components_are_reported_before_anything_else():
    summary = made.summary(MEDIANS, [SLOW_REST])
    usual = conclusions(summary)
    slowed = conclusions(summary | {"switches": summary["switches"] | {"delay_ms": {"payment": 2.0}}})
    assert slowed[0].startswith("DELAY INJECTED: 2 ms in payment, in every request")
    assert slowed[1:] == usual
