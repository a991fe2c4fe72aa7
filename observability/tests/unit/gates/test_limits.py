"""One table of gates: every gate that a run may have is in it, and the documentation lists each gate correctly."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from hops.gates.limits import GATES, Kind, gate_name, kind_of
from hops.gates.target_traces import TargetTraces
from hops.gates.trial import evaluate
from hops.gates.verdict import verdict_of, with_verdicts
from hops.run.documents.gate import NOISY, VALID, WRONG

from .test_trial import IN_A_CLUSTER, MESHED, OVER_A_NETWORK, SOUND

DOCS = Path(__file__).resolve().parents[4] / "docs" / "experiments" / "method.md"
OVER_TRIALS = {"answers_differ", "code_changed", "block_spread_share", "block_worst_share", "speed_off_share"}
OF_A_SEARCH, OF_A_FAULT = {"stopped", "without_rate"}, {"unanswered", "unanswered_on_busy", "unsettled"}
OF_PROBES = {"growing", "too_short", "unseen", "unsteady", "without_updates"} | {
    f"updates_{name}" for name in ("missed", "repeated", "untraced_share", "gap_ns", "unattributed_share")
}


def test_the_table_has_every_gate_and_no_other():
    closed = dataclasses.replace(SOUND, closed=True, late_customers=0)
    of_target = dataclasses.replace(SOUND, of_the_shop=False, target=TargetTraces(1, 1, 0, 1, 0))
    seen = (SOUND, closed, of_target, MESHED, IN_A_CLUSTER, OVER_A_NETWORK)
    names = {gate["name"] for evidence in seen for gate in evaluate(evidence)}
    assert {kind.name for kind in GATES} == names | OVER_TRIALS | OF_A_SEARCH | OF_A_FAULT | OF_PROBES


def test_the_documentation_lists_the_gates_as_they_are():
    section = DOCS.read_text(encoding="utf-8").partition("## Gates\n")[2].partition("\nWhere gates differ:\n")[0]
    counted = [kind for kind in GATES if kind.fails == WRONG and not kind.limit]
    limited = [kind for fails in (NOISY, WRONG) for kind in GATES if kind.fails == fails and kind not in counted]
    expected = [
        *(f"| `{kind.name}` | {kind.text} | {kind.limit_text()}{kind.more} |" for kind in limited),
        *(f"- `{kind.name}`: {kind.text}" for kind in counted),
    ]
    assert [line for line in section.splitlines() if line.startswith(("| `", "- `"))] == expected


def test_a_gate_must_say_the_verdict_if_it_fails():
    with pytest.raises(TypeError, match="fails"):
        Kind(name="new", text="new", why="")  # type: ignore[call-arg]
    assert {kind.name for kind in GATES if kind.fails == NOISY} == {
        "start_lag_p99_ms", "start_lag_mean_ms", "answer_lag_ms", "answers_longer", "generator_cores",
        "unanswered_on_busy", "steal_share", "other_cores", "disk_stall_share", "speed_off_share", "block_spread_share",
        "block_worst_share",
    }  # fmt: skip
    assert {kind.fails for kind in GATES} == {NOISY, WRONG}


@pytest.mark.parametrize(
    ("failing", "verdict"),
    [
        ([], VALID),
        (["steal_share", "other_cores"], NOISY),
        (["steal_share", "parity"], WRONG),
        (["a_gate_of_another_version"], WRONG),
    ],
)
def test_the_worst_gate_that_fails_decides(failing, verdict):
    gates = [kind_of(name).evaluate(None if name in failing else 0) for name in ("parity", "spans_lost", *failing)]
    assert verdict_of(gates) == verdict
    assert {gate["verdict"] for gate in with_verdicts(gates)} >= {verdict}


@pytest.mark.parametrize(
    ("name", "value", "limit", "texts"),
    [
        ("start_lag_p99_ms", 0.4321, 1.0, ("0.432 ms", "below 1 ms")),
        ("start_lag_p99_ms", 3.0, 5.125, ("3 ms", "below 5.12 ms")),
        ("failure_share", 0.0125, 0.001, ("1.25 %", "below 0.1 %")),
        ("budget_gap_ns", 0, 0, ("0 ns", "at most 0 ns")),
        ("other_cores", None, 0.25, ("not measured", "below 0.25 cores")),
        ("spans_lost", 1234, 0, ("1,234", "at most 0")),
    ],
)
def test_value_and_limit_have_one_unit(name, value, limit, texts):
    kind = kind_of(name)
    assert (kind.number(value), kind.limit_text(limit)) == texts


@pytest.mark.parametrize(("name", "at_limit"), [("start_lag_p99_ms", False), ("unattributed_share", True)])
def test_a_relation_is_checked_as_it_reads(name, at_limit):
    kind = kind_of(name)
    assert kind.evaluate(kind.limit)["ok"] is at_limit
    assert not kind.evaluate(None)["ok"]


def test_a_gate_of_another_version_keeps_its_name():
    assert gate_name("gate[/b]") == "gate[/b]"
