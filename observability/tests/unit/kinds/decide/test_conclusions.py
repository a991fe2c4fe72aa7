"""The lines that say which topology to choose."""

from __future__ import annotations

import re

import pytest

from hops.kinds import analyse
from hops.kinds.decide.analysis import Customers, decide
from hops.kinds.decide.conclusions import decision_lines, decision_title, decision_view
from hops.run.files import read_run
from hops.run.network import NAMED
from synthetic.run import write_generated_run

from ...report.pages import print_view

PARTNERS_AWAY = Customers("default", None, {"partner": NAMED["4g"]})


def decide_for(folder, customers=PARTNERS_AWAY, **options):
    run = read_run(write_generated_run(folder, journeys_per_trial=300, **options))
    return decide(run, analyse(run, name="made-up"), customers)


@pytest.fixture(scope="module")
def decision(tmp_path_factory):
    return decide_for(tmp_path_factory.mktemp("run") / "run", topologies=["hybrid", "rest"])


def test_each_channel_is_answered_with_its_network_and_what_would_have_to_shrink(decision):
    assert decision_title(decision) == (
        "Which one would we take? By run (2 topologies, 5 blocks at 50 journeys a second, VALID), "
        "for the workload default:"
    )
    lines = dict(decision_lines(decision))
    assert list(lines) == ["mobile", "partner", "web", "whole mix", "cheapest", "fewest bytes", "cannot say", "sources"]
    assert lines["partner"].startswith("4g (70 ms, 12/12 Mbit/s): hybrid is the fastest, ")
    assert "rest takes " in lines["partner"]
    network = r"the customer's network \(2.00 round trips instead of 1.00\) takes [\d.]+ ms .* more than in hybrid"
    assert re.search(f"{network}, which is enough to account for it", lines["partner"])
    assert "loopback (0 ms): rest is the fastest" in lines["web"]
    assert lines["whole mix"].startswith("each channel at its network: ")
    assert lines["cheapest"].startswith("rest is the cheapest, ")
    assert "CPU time is not counted by channel" in lines["cheapest"]


def test_every_figure_is_marked_with_a_source_that_is_listed(decision):
    lines = dict(decision_lines(decision))
    listed = set(re.findall(r"\[\d\]", lines.pop("sources")))
    lines.pop("cannot say")
    for text in lines.values():
        marks = set(re.findall(r"\[\d\]", text))
        assert marks
        assert marks <= listed


def test_a_difference_that_is_not_shown_comes_with_its_interval(tmp_path):
    lines = dict(decision_lines(decide_for(tmp_path / "run", topologies=["hybrid", "twin"], seed=3)))
    assert re.search(r"p50 \w+ [\d.]+ ms \([\d.]+ to [\d.]+\) or \w+ [\d.]+ ms", lines["web"])
    difference = r"whole mix, p50: \w+ against \w+ \d+\.\d+ ms \(−\d+\.\d+ to \d+\.\d+\), would have seen \d+ %"
    assert re.search(difference, lines["not shown"])


def test_every_line_of_a_noisy_run_says_so(tmp_path):
    noisy = decide_for(tmp_path / "run", topologies=["hybrid", "rest"], failing={(2, "rest"): "steal_share"})
    assert "NOISY" in decision_title(noisy)
    assert all(text.startswith("NOISY: ") for about, text in decision_lines(noisy) if about != "sources")


def test_a_long_list_is_counted_to_its_end(tmp_path):
    names = ["hybrid", "twin", "third", "fourth", "fifth"]
    lines = dict(decision_lines(decide_for(tmp_path / "run", topologies=names, blocks=1)))
    assert lines["web"].endswith("ms or 2 others (not tested: needs 3 blocks, and there is 1) [1][2]")
    assert lines["cannot say"].count("needs 3") == 1


def test_one_topology_is_not_called_the_fastest(tmp_path):
    alone = dict(decision_lines(decide_for(tmp_path / "run", topologies=["hybrid"], blocks=1)))
    assert "the fastest" not in alone["web"]
    assert alone["cannot say"].startswith("which topology: the run measured only one, hybrid")


def test_the_terminal_has_every_line_at_any_width(decision):
    for width in (80, 110):
        shown = print_view(decision_view(decision), width)
        text = " ".join(shown.split())
        assert all(about in text for about, _ in decision_lines(decision))
        assert all(len(line) <= width for line in shown.splitlines())
