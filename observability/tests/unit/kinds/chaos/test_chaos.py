"""What a run with faults shows about customers and data."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from hops import kinds
from hops.gates.limits import kind_of
from hops.gates.trial import audit_gates
from hops.kinds.chaos.analysis import customer_figures
from hops.kinds.chaos.document import KIND, struck_of
from hops.kinds.chaos.tables import errors_table, faults_table, messages_table, sentences
from hops.report import write_report
from hops.run.documents.gate import Gate
from hops.run.documents.summary import Summary
from hops.run.documents.trial import TrialRecord
from hops.run.files import RunFiles
from synthetic.run import Arm

from ...report.pages import print_view

ARMS = ("rest-kill-order", "rest-kill-jaeger")
NS = 1_000_000_000
Change = Callable[[Any], None]


@pytest.fixture(scope="module")
def run(make_run: Callable[..., RunFiles]) -> RunFiles:
    """A run of two faults in two blocks, of which `kill:order` fails four journeys in the first block."""
    arms = [Arm(label, "rest", traced=False) for label in ARMS]
    run = make_run(blocks=2, journeys_per_trial=300, kind=KIND, arms=arms)
    rows, trials = run.journeys, []
    for trial in run.trials:
        mine = (pl.col("block") == trial["block"]) & (pl.col("topology") == trial["topology"])
        began = int(rows.filter(mine)["intended_ns"].min()) + NS  # type: ignore[arg-type]
        fault = {
            "fault": trial["topology"].removeprefix("rest-").replace("-", ":"), "began_ns": began,
            "ended_ns": began + NS // 2, "checkouts": 150, "repeated": 0, "unanswered": 0, "settle_s": 0.1,
            "unsettled": 0, "broken": [],
        }  # fmt: skip
        if (trial["block"], trial["topology"]) == (1, ARMS[0]):
            fault["repeated"] = 4
            struck = rows.filter(mine & (pl.col("intended_ns") >= began)).sort("intended_ns")["seq"].head(4).to_list()
            is_struck = mine & pl.col("seq").is_in(struck)
            new = {"outcome": "server", "error": "UNAVAILABLE", "journey": "checkout"}
            rows = rows.with_columns(
                pl.when(is_struck).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
                for name, value in new.items()
            )
        trials.append(cast("TrialRecord", {**trial, "fault": fault}))
    return replace(run, journeys=rows, trials=trials)


def summarise(run: RunFiles, change: Change = lambda _: None) -> Summary:
    """Makes the summary of the run, with the record of each trial changed."""
    trials = deepcopy(run.trials)
    for trial in trials:
        change(trial)
        trial["gates"] += audit_gates(trial["fault"]["unanswered"], trial["fault"]["unsettled"], trial["gates"])
    return kinds.analyse(replace(run, trials=trials), name="night")


def fail(trial: Any, gate: Gate) -> None:
    trial["gates"] = [one for one in trial["gates"] if one["name"] != gate["name"]] + [gate]


def in_order(**facts: Any) -> Change:
    """Changes the recorded facts of one fault: the fault of the trial `kill:order` in the first block."""

    def change(trial: Any) -> None:
        if (trial["block"], trial["topology"]) == (1, ARMS[0]):
            trial["fault"] |= facts

    return change


def test_a_run_is_shown_from_its_rows_on_page_and_terminal(run: RunFiles, tmp_path: Path) -> None:
    summary = summarise(run)
    struck = struck_of(summary)
    assert [(one["fault"], one["block"]) for one in struck] == [
        ("kill:order", 1), ("kill:order", 2), ("kill:jaeger", 1), ("kill:jaeger", 2),
    ]  # fmt: skip
    assert (struck[0]["failed"], struck[0]["failed_journeys"]) == ({"server": 4}, {"checkout": 4})
    assert (struck[0]["messages"], struck[0]["lasted_s"], struck[0]["over"]) == ({"UNAVAILABLE": 4}, 0.5, True)
    first, second = faults_table(struck).rows
    assert [cell.text for cell in first[:2]] == ["rest", "kill:order"]
    assert (first[4].value, first[9].value, first[10].value, first[11].text) == (4, 300, 4, "right")
    assert (second[4].value, second[5].value) == (0, 0)
    (errors,) = errors_table(struck).rows
    assert [cell.text for cell in errors[2:]] == ["4 server", "4 checkout"]
    (message,) = messages_table([{**struck[0], "messages": {"a\x1b[2Jb": 3}}]).rows
    assert [cell.text for cell in message] == [r"a\x1b[2Jb", "3"]
    said = list(sentences(struck))
    assert said[0] == "In rest, 4 of 1,200 journeys failed, and 3 of 4 faults made no journey fail."
    assert said[1].startswith("All 600 purchases that were confirmed to customers are in the data, each once")
    write_report(run, summary, tmp_path, kinds.kind_of(run))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "How long journeys failed" in page
    assert (tmp_path / "csv" / "faults.csv").is_file()
    shown = " ".join(print_view(kinds.show_run(summary, brief=True), 160).split())
    assert "purchases that were confirmed" in shown


def test_damage_is_wrong_and_no_sentence_then_praises_the_data(run: RunFiles) -> None:
    def lose(trial: Any) -> None:
        in_order(broken=["money adds up"])(trial)
        if trial["fault"]["broken"]:
            fail(trial, kind_of("invariants_broken").evaluate(1))

    broken = summarise(run, lose)
    said = list(sentences(struck_of(broken)))
    assert (broken["verdict"], said[1:]) == ("WRONG", ["rest, kill:order, block 1: money adds up: BROKEN."])
    unsettled = summarise(run, in_order(unsettled=3))
    said = list(sentences(struck_of(unsettled)))
    assert (unsettled["verdict"], said[1:]) == ("WRONG", ["rest, kill:order, block 1: 3 sagas or updates never ended."])


def test_a_purchase_without_an_answer_is_wrong_unless_the_machine_was_busy(run: RunFiles) -> None:
    def be_busy(trial: Any) -> None:
        in_order(unanswered=1)(trial)
        fail(trial, kind_of("other_cores").evaluate(1.9))

    assert summarise(run, in_order(unanswered=1))["verdict"] == "WRONG"
    busy = summarise(run, be_busy)
    assert busy["verdict"] == "NOISY"
    assert "unanswered_on_busy" in {gate["name"] for gate in busy["gates"] if not gate["ok"]}
    both = [kind_of("other_cores").evaluate(1.9), kind_of("invariants_broken").evaluate(1)]
    assert [gate["name"] for gate in audit_gates(1, 0, both)] == ["unanswered", "unsettled"]


def test_a_repetition_does_not_undo_a_loss(run: RunFiles) -> None:
    lost: Any = deepcopy(run.trials[0]) | {"used": False, "attempt": 0}
    lost["fault"]["unsettled"] = 2
    summary = summarise(replace(run, trials=[*run.trials, lost]))
    assert summary["verdict"] == "WRONG"
    assert any("2 sagas or updates never ended" in text for text in sentences(struck_of(summary)))


def test_what_a_fault_did_is_computed_from_the_rows() -> None:
    rows = [(0, "ok", "browse", 10), (1, "ok", "browse", 30), (4, "server", "checkout", 5), (5, "timeout", "browse", 9)]
    rows += [(6, "ok", "browse", 400), (8, "ok", "browse", 10), (15, "ok", "browse", 10)]
    journeys = pl.DataFrame(
        {
            "intended_ns": [at * NS for at, *_ in rows],
            "outcome": [outcome for _, outcome, *_ in rows],
            "journey": [journey for _, _, journey, _ in rows],
            "latency_ns": [ms * 1_000_000 for *_, ms in rows],
            "error": ["" if outcome == "ok" else f"{outcome}!" for _, outcome, *_ in rows],
        }
    )
    figures = customer_figures(journeys, int(3.5 * NS), 6 * NS)
    assert figures["failed"] == {"server": 1, "timeout": 1}
    assert figures["failed_journeys"] == {"checkout": 1, "browse": 1}
    assert figures["messages"] == {"server!": 1, "timeout!": 1}
    assert (figures["lasted_s"], figures["failing_s"], figures["over"]) == (2.5, 1.5, True)
    assert (figures["before_ms"]["p99"], figures["during_ms"]["p50"]) == (30.0, 400.0)
    ends_badly = journeys.with_columns(outcome=pl.Series(["ok"] * 6 + ["server"]))
    assert not customer_figures(ends_badly, int(3.5 * NS), 6 * NS)["over"]
    without = customer_figures(journeys.filter(pl.col("outcome") == "ok"), 9 * NS, 20 * NS)
    assert (without["failing_s"], without["over"]) == (0, True)
    none_ok = customer_figures(journeys.with_columns(outcome=pl.lit("server")), int(3.5 * NS), 6 * NS)
    assert (none_ok["before_ms"], none_ok["during_ms"]) == ({}, {})
