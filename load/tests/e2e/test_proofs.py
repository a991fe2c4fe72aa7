"""Small versions of the proofs, and the switch that they need, as a user runs them."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "delay=bank:2ms"], "bank is an unknown component; valid: product, user, payment, order"),
        (["bench", "delay=payment:2"], "give comma-separated COMPONENT:TIME"),
        (["bench", "topology=rest", "delay=rest-gateway:2ms"], "rest does not run rest-gateway"),
        (["up", "delay=payment:2s"], "out of range; valid: 0, or 1us to 1s"),
        (["compare", "topologies=hybrid,rest", "delay=rest-gateway:2ms"], "rest does not run rest-gateway"),
        (["prove-delays", "hops=bank"], "bank is unknown; valid: payment"),
        (["prove-delays", "sizes=2"], "is not a delay"),
        (["prove-delays", "blocks=2"], "give at least 3"),
        (["prove-what-if", "hops=bank"], "bank is unknown; valid: payment"),
        (["prove-delays", "resume=nothing"], "not an interrupted prove-delays"),
        (["prove-resume", "kills=0"], "from 1 to 100"),
        (["prove-siblings", "kills=3"], "prove-siblings has no setting kills"),
        (["prove-statistics", "traces=3"], "prove-statistics has no setting traces"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(refused, arguments: list[str], message: str) -> None:
    refused(arguments, message)


def test_a_slowed_system_reports_its_delays(terminal) -> None:
    try:
        done = terminal.make("up", "delay=payment:2ms,user:500us")
        assert done.returncode == 0, done.stderr
        assert "DELAYED" in done.stdout
        assert "payment by 2 ms, user by 0.5 ms" in done.stdout
        assert "DELAYED: payment by 2 ms" in " ".join(terminal.make("status").stdout.split())
    finally:
        terminal.make("down")
    assert terminal.left_over() == []


def test_a_delay_is_found_where_it_is(terminal) -> None:
    done = terminal.make("prove-delays", "hops=payment", "sizes=5ms", "blocks=3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 delays were found" in done.stdout
    newest = max(terminal.results.glob("2*-prove-delays/proof.json"))
    assert json.loads(newest.read_text())["holds"]
    assert terminal.left_over() == []


def test_the_rule_for_siblings_is_proven(terminal) -> None:
    done = terminal.make("prove-siblings", "traces=200")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No rule is better than the rule in use" in " ".join(done.stdout.split())


def test_a_killed_experiment_loses_nothing(terminal) -> None:
    done = terminal.make("prove-resume", "kills=3", "blocks=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 2 trials exist exactly once" in done.stdout
    assert terminal.left_over() == []
