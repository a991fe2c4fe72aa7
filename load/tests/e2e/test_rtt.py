from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rtts=-1,20"], "-1 is not a round-trip time from 0ms to 2s"),
        (["rtts=0,2h"], "2h is not a round-trip time from 0ms to 2s"),
        (["rtts=near"], "near is not a round-trip time"),
        (["rtts=20,20"], "20 is given twice"),
        (["rtts=20"], "give at least two, such as 0,20,50,100"),
        (["rtts=0,10,20,30,40,50,60,70"], "make 32 arms, and an experiment has at most 30"),
        (["topologies=rest,soap"], "hybrid-transcoded"),
        (["bandwidth=0"], "bandwidth=0"),
        (["resume=nothing"], "not an interrupted rtt"),
        (["resume=latest", "rtts=0,20"], "leave out rtts"),
        (["rtt=20ms"], "rtt has no setting rtt; it has: topologies rtts"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(refused, arguments: list[str], message: str) -> None:
    refused(["rtt", *arguments], message)


def test_two_topologies_at_two_distances_have_figures_and_a_report(terminal) -> None:
    done = terminal.make("rtt", "topologies=rest,hybrid", "rtts=0,20", "blocks=1", "rate=10")
    # a noisy machine makes the run NOISY, which fails with CI=true
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert "rest-0ms, hybrid-0ms, rest-20ms, hybrid-20ms: 1 block of 4 trials in random order" in done.stderr
    assert "What distance does" in done.stdout
    latest = terminal.latest()
    summary = json.loads((latest / "summary.json").read_text())
    assert summary["rtt"]["rtts_ms"] == [0, 20]
    assert {row["topology"] for row in summary["rtt"]["slopes"]} == {"rest", "hybrid"}
    assert (latest / "report.html").is_file()
    assert terminal.left_over() == []
