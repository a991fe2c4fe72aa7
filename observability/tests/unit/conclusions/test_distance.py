"""Sentences about distance: the network for which figures hold, and the distance beyond which a topology is faster."""

from __future__ import annotations

import pytest

from hops.conclusions.comparison import grouped_conclusions
from hops.conclusions.distance import break_even_words, turn_sentences
from hops.elements.element import Text
from hops.run.network import network_summary
from hops.tables.distance import break_even_elements
from hops.tables.view import SummaryView
from hops.terminal.comparison import compare

from ..report.pages import print_view
from . import summaries as made

AHEAD = made.comparison("order_history", "p50", "rest", "hybrid", (10.0, 13.0), [-3.6, -2.7], 0.004, "left_lower")
NEAR = {"network": "loopback", "rtt_ms": None, "bandwidth": ""}


def row(verdict="from", sooner="hybrid", at_ms=9.0, ci95=(7.0, 12.0), stretches=(), reason=None):
    return {
        "left": "hybrid", "right": "rest", "verdict": verdict, "sooner": sooner, "at_ms": at_ms, "ci95_ms": list(ci95),
        "stretches": list(stretches), "p_corrected": [0.01, 0.01], "reason": reason,
    }  # fmt: skip


STRETCHES = [{"sooner": "rest", "from_ms": 0.0, "to_ms": 4.0}, {"sooner": "hybrid", "from_ms": 9.0, "to_ms": 200.0}]
LEVEL = row("not_shown", None, None, (None, None))
UNTESTED = row("unknown", None, 9.0, (None, None), reason="needs 3 blocks, and there are 2")


def distance(**rows):
    """Figures over distance in which rest is the fastest at the edge, in every journey."""
    estimate = {"value": 10.0, "ci95": [9.0, 11.0]}
    return {
        "grid_ms": [0.0, 200.0],
        "journeys": {
            journey: {
                "curves": {"rest": [10.0, 410.0], "hybrid": [19.0, 219.0]},
                "curves_ci95": {"rest": [[9.0, 11.0]] * 2, "hybrid": [[18.0, 20.0]] * 2},
                "round_trips": {"rest": 2.0, "hybrid": 1.0},
                "bytes": {name: {"down": 100.0, "up": 50.0} for name in ("rest", "hybrid")},
                "own_ms": {"rest": estimate, "hybrid": estimate},
                "measured": {},
                "pairs": [one],
            }
            for journey, one in rows.items()
        },
        "named": {},
        "channels": {},
    }


def summary(switches=NEAR, **rows):
    whole = made.summary({"rest": 10.0, "hybrid": 13.0}, [AHEAD]) | {"switches": switches}
    network = network_summary(switches)
    return whole | ({"network": network} if network else {}) | ({"distance": distance(**rows)} if rows else {})


@pytest.mark.parametrize(
    ("switches", "place"),
    [
        ({}, "With no distance between customer and edge"),
        (NEAR, "With no distance between customer and edge"),
        (NEAR | {"rtt_ms": 40.0}, "At 40.0 ms of round-trip time"),
        (NEAR | {"rtt_ms": 40.0, "bandwidth": "10mbit/2mbit"}, "At 40 ms, 10/2 Mbit/s"),
        (NEAR | {"network": "4g"}, "On 4g (70 ms, 12/12 Mbit/s)"),
        ({"networks": {"web": NEAR | {"network": "wifi"}, "partner": NEAR | {"network": "lan"}}},
         "With web on wifi (2 ms, 30/15 Mbit/s) and partner on lan (0.5 ms, 1000/1000 Mbit/s)"),
    ],
)  # fmt: skip
def test_the_first_sentence_names_the_network_for_which_it_holds(switches, place):
    headline = grouped_conclusions(summary(switches)).headline
    assert headline[0] == f"{place}, at p50 rest is the fastest in the one journey."


def test_a_sentence_that_begins_with_a_name_leaves_it_as_it_is():
    named = made.summary({"Rest": 10.0}, [], blocks=1) | {"switches": NEAR}
    assert grouped_conclusions(named).headline[0].startswith("With no distance between customer and edge, Rest answers")


def test_arms_at_different_networks_have_no_place_in_common():
    far = summary(NEAR | {"rtt_ms": 40.0})
    del far["network"]
    assert grouped_conclusions(far).headline[0] == "At p50 rest is the fastest in the one journey."


def test_the_headline_then_says_where_the_ranking_flips():
    found = grouped_conclusions(summary(all=row(at_ms=20.0, ci95=(15.0, 25.0)), order_history=row()))
    assert found.context[:2] == [
        "From 20.0 ms (15.0 to 25.0) of round-trip time on, hybrid answers the whole mix faster than rest.",
        "From 9.0 ms (7.0 to 12.0) of round-trip time on, hybrid answers order_history faster than rest.",
    ]


def test_a_mix_with_a_stable_ranking_comes_before_its_journeys():
    one = summary(all=row("never", "rest", None, (None, None)), order_history=row(at_ms=3.0, ci95=(1.0, 5.0)))
    assert turn_sentences(one, one["distance"]) == [
        "Over the whole mix no topology is shown to overtake the fastest one up to 200 ms of round-trip time.",
        "From 3.0 ms (1.0 to 5.0) of round-trip time on, hybrid answers order_history faster than rest.",
    ]


def test_a_ranking_that_flips_twice_is_not_called_stable():
    twice = row("several", None, None, (None, None), STRETCHES)
    flips = "the ranking of hybrid and rest flips more than once: rest from 0 to 4.00 ms and hybrid from 9.00 to 200 ms"
    one = summary(all=twice, order_history=LEVEL)
    assert turn_sentences(one, one["distance"]) == [f"For the whole mix, {flips}."]
    one = summary(all=LEVEL, order_history=twice)
    assert turn_sentences(one, one["distance"]) == [
        "Over the whole mix no topology is shown to overtake the fastest one up to 200 ms of round-trip time.",
        f"For order_history, {flips}.",
    ]


def test_untested_flips_are_not_reported():
    one = summary(all=UNTESTED, order_history=UNTESTED)
    assert turn_sentences(one, one["distance"]) == []


def test_untested_pairs_do_not_count_as_pairs_that_do_not_flip():
    one = summary(all=UNTESTED, order_history=LEVEL)
    [text] = turn_sentences(one, one["distance"])
    assert text.startswith("No topology is shown to overtake the fastest one up to 200 ms of round-trip time, ")
    assert text.endswith(" in the mix or in a journey (1 of 2 not tested: needs 3 blocks, and there are 2).")
    one = summary(all=UNTESTED, order_history=row())
    assert not any("the whole mix" in text for text in turn_sentences(one, one["distance"]))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ((UNTESTED, UNTESTED), "Break-evens were not tested: needs 3 blocks, and there are 2."),
        ((LEVEL, UNTESTED),
         "No pair is shown to change its order (1 of 2 not tested: needs 3 blocks, and there are 2)."),
        ((LEVEL, LEVEL), "No pair is shown to change its order."),
    ],
)  # fmt: skip
def test_a_break_even_that_was_not_tested_is_not_called_none(rows, text):
    one = summary(all=rows[0], order_history=rows[1])
    assert break_even_elements(SummaryView(one), one["distance"])[0] == Text(text)


def test_one_sentence_says_that_no_ranking_flips():
    one = summary(all=LEVEL)
    assert turn_sentences(one, one["distance"]) == [
        "No topology is shown to overtake the fastest one up to 200 ms of round-trip time, in the mix or in a journey."
    ]


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (row(), "hybrid from 9.0 ms (7.0 to 12.0) on"),
        (row(ci95=(None, 12.0)), "hybrid from 9.0 ms (… to 12.0) on"),
        (row("beyond", at_ms=None, ci95=(None, 3.0)), "hybrid from 3.00 ms on; not shown nearer"),
        (row("up_to", "rest", 150.0, (120.0, None)), "rest up to 120 ms; not shown beyond"),
        (row("always", "hybrid", None, (None, None)), "always hybrid"),
        (row("never", "rest", None, (None, None)), "never hybrid: rest at every distance"),
        (row("not_shown", None, None, (None, None)), "not shown"),
        (row("unknown", None, reason="needs 3 blocks, and there is 1"), "needs 3 blocks, and there is 1"),
        (row("several", None, None, (None, None), STRETCHES), "rest from 0 to 4.00 ms and hybrid from 9.00 to 200 ms"),
    ],
)
def test_each_verdict_has_its_words(one, words):
    assert break_even_words(one) == words


def test_a_terminal_has_the_pairs_whose_ranking_flips():
    text = print_view(compare(summary(all=row("never", "rest", None, (None, None)), order_history=row())), 110)
    assert "hybrid from 9.0 ms (7.0 to 12.0) on" in text
    assert "never hybrid" not in text
