"""The rule for overlapping siblings, compared with others on traces with known waits."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hops.budget.parts import budget_of_tree
from hops.traces.critical_path import AHEAD_PERCENT
from hops.traces.tree import grow
from proofs.statistics.commands import app
from proofs.statistics.siblings import RULES, prove_siblings
from synthetic.waits import CAUSES, known_trace


@pytest.mark.parametrize("cause", CAUSES)
def test_the_known_budget_adds_up_to_the_trace(cause):
    for number in range(50):
        known = known_trace(cause, 1, number)
        budget = budget_of_tree(grow(known.spans))
        assert budget is not None
        assert sum(known.budget.values()) == budget.total_ns
        assert known == known_trace(cause, 1, number)


def test_the_rule_in_use_is_no_worse_than_any_other():
    proof = prove_siblings(400, seed=1)
    rules = {rule["ahead_percent"]: rule for rule in proof["rules"]}
    assert list(rules) == list(RULES)
    assert rules[AHEAD_PERCENT]["all"] <= rules[50]["all"]
    assert rules[50]["more_ci95"][0] > 0
    assert proof["holds"]


def test_the_command_shows_every_rule_and_marks_the_rule_in_use():
    result = CliRunner().invoke(app, ["siblings", "--traces", "20"])
    rows = [row for line in result.output.splitlines() if (row := line.split())[1:2] == ["%"]]
    assert [row[0] for row in rows] == [str(rule) for rule in RULES]
    assert [row[0] for row in rows if row[-1] == "used"] == [str(AHEAD_PERCENT)]
    as_json = CliRunner().invoke(app, ["siblings", "--traces", "20", "--json"])
    assert json.loads(as_json.stdout)["used_percent"] == AHEAD_PERCENT
