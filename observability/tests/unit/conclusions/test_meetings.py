"""Sentences about what ran at the same time, where they explain a difference."""

from __future__ import annotations

import re

import pytest

from hops.conclusions.comparison import grouped_conclusions
from hops.conclusions.meetings import meeting_sentences

from . import summaries as made

MEDIANS = {"rest": 10.0, "graphql": 15.0}
"""Their means are 11.0 and 16.5 ms."""
LONGER = {"value": 31.0, "ci95": [25.0, 37.0]}
TAIL = {"value": 158.0, "ci95": [65.0, 251.0]}
MET = "ran at the same time as a bulk_lines"
TEST = "“make isolate topology=graphql journey=bulk_lines” shows whether that made them slower."
ABOUT = re.compile(r"(With \w+, [\d.]+ % of|Of the [\w ]*journeys of|In \w+, [\d.]+ % of) .*")
FIGURE = re.compile(r"\d[\d.,]*(?: %| ms)?(?: \([^)]* to [^)]*\))?")


def meeting(
    topology="graphql", journey="order_history", met="bulk_lines", more=LONGER, mean_ms=3.5, tail=TAIL, beyond=0.71
):
    return {
        "topology": topology, "journey": journey, "met": met, "meetings": 500, "share": 0.113, "more": more,
        "mean_ms": mean_ms, "percentiles": {"p50": more} | ({} if tail is None else {"p99": tail}),
        "beyond_p99": beyond,
    }  # fmt: skip


def conclusions(*meetings, journey="order_history"):
    rows = [
        made.comparison(journey, metric, "rest", "graphql", values, ci95, 0.004, "left_lower")
        for metric, values, ci95 in (("p50", (10.0, 15.0), [-6.0, -4.0]), ("p99", (40.0, 60.0), [-30.0, -10.0]))
    ]
    return grouped_conclusions(made.summary(MEDIANS, rows) | {"meetings": list(meetings)})


def about_meetings(texts):
    """Returns the part of the sentences about meetings."""
    return [found[0] for text in texts if (found := ABOUT.search(text))]


def test_the_mean_and_the_tail_each_name_the_disturber_behind_what_they_explain():
    p50, p99 = conclusions(meeting()).journeys["order_history"]
    assert "at p50" in p50
    assert "at p99" in p99
    texts = about_meetings([p50, p99])
    assert texts == [
        f"With graphql, 11.3 % of all order_history journeys {MET}, and took 31.0 ms (25.0 to 37.0) longer than others "
        f"like them. That is 3.5 of the 5.5 ms between the means of all order_history journeys. {TEST}",
        f"Of the order_history journeys of graphql above its p99, 71 % {MET} (11 % of all did). Such journeys "
        f"have a p99 158 ms (65 to 251) higher. {TEST}",
    ]
    for sentence in " ".join(texts).replace("p99", "tail").split(". "):
        assert len(FIGURE.findall(sentence)) <= 3, sentence


@pytest.mark.parametrize(
    "one",
    [
        meeting(more={"value": 31.0, "ci95": [-1.0, 63.0]}, tail={"value": 158.0, "ci95": [-5.0, 321.0]}),
        meeting(more={"value": -31.0, "ci95": [-40, -22]}, mean_ms=-3.5, tail={"value": -9.0, "ci95": [-12, -6]}),
        meeting(mean_ms=0.2, beyond=0.3),
        meeting(mean_ms=0.2, beyond=None),
        meeting(topology="rest"),
        meeting(journey="browse"),
    ],
    ids=["not shown", "faster", "too little", "too few above p99", "of the faster", "of another"],
)
def test_meetings_not_shown_or_explaining_little_are_left_out(one):
    assert about_meetings(conclusions(one).journeys["order_history"]) == []


def test_a_tail_too_small_for_a_p99_is_described_by_its_mean():
    (text,) = about_meetings(conclusions(meeting(mean_ms=0.2, tail=None)).journeys["order_history"])
    assert text == (
        f"Of the order_history journeys of graphql above its p99, 71 % {MET} (11 % of all did). Such journeys took "
        f"31.0 ms (25.0 to 37.0) longer on average. {TEST}"
    )


def test_what_the_faster_topology_loses_too_is_subtracted():
    texts = conclusions(meeting(), meeting(topology="rest", mean_ms=1.5)).journeys["order_history"]
    assert "That is 2.0 of the 5.5 ms" in about_meetings(texts)[0]
    texts = conclusions(meeting(mean_ms=7.0)).journeys["order_history"]
    assert "That is 7.0 ms, more than the 5.5 ms" in about_meetings(texts)[0]


def test_the_experiment_on_one_topology_behind_several_edges_is_named_without_an_arm():
    summary = made.summary(MEDIANS, []) | {"meetings": [meeting(journey="all")], "compared": "edge"}
    (text,) = meeting_sentences(summary)
    assert text.endswith("slower.")
    assert "“make isolate journey=bulk_lines”" in text


def test_over_the_whole_mix_a_topology_is_named_once():
    both = [meeting(journey="all"), meeting(topology="rest", journey="all", mean_ms=1.5)]
    found = conclusions(*both, journey="all")
    assert [text[:40] for text in about_meetings([*found.headline, *found.mix])] == [
        "With graphql, 11.3 % of all journeys ran",
        "Of the journeys of graphql above its p99",
        "In rest, 11.3 % of all journeys ran at t",
    ]


@pytest.mark.parametrize(
    ("low", "mean_ms", "sentences"),
    [
        (28.0, 3.5, ["In graphql, 11.3 % of all journeys ran at the same time as a bulk_lines, and took 31.0 ms "]),
        (-1.0, 3.5, []),
        (28.0, 0.2, []),
    ],
    ids=["shown", "not shown", "too little to tell"],
)
def test_the_costliest_meetings_are_reported_if_they_are_a_part_of_the_mean(low, mean_ms, sentences):
    one = meeting(journey="all", more={"value": 31.0, "ci95": [low, 34.0]}, mean_ms=mean_ms)
    found = about_meetings(conclusions(one).context)
    assert [text[: len(begin)] for text, begin in zip(found, sentences, strict=True)] == sentences
