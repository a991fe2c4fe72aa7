"""What is shown of a sweep or a stress test, and what makes it NOISY or WRONG."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from hops.errors import MalformedRunError
from hops.gates.verdict import Doubt
from hops.kinds import make_report
from hops.kinds.capacity.document import Document, doubts_about
from hops.kinds.capacity.synthetic import step, synthetic_document
from hops.kinds.capacity.terminal import capacity_view
from hops.run.documents.gate import NOISY, VALID, WRONG
from hops.terminal.console import terminal

from ...report.pages import page_of


@pytest.fixture
def swept() -> Document:
    return synthetic_document()


def shown(document: Document) -> str:
    out = io.StringIO()
    terminal(out, width=110).print(capacity_view(document))
    return out.getvalue()


def report_of(document: Document, folder: Path) -> tuple[Path, bool]:
    (folder / f"{document['kind']}.json").write_text(json.dumps(document))
    return make_report(folder)


def test_names_stand_in_the_terminal_as_they_are(swept: Document) -> None:
    assert "gw[/red]" in shown(json.loads(json.dumps(swept).replace('"hybrid"', '"gw[/red]"')))


def test_the_table_marks_the_generator(swept: Document) -> None:
    text = shown(swept)
    assert "at least 40" in text
    assert text.count("misses; GENERATOR") == 1  # in the table
    assert text.count("misses, GENERATOR") == 1  # in the curve
    assert "VALID: the figures may be trusted." in text
    assert "GENERATOR: it could not keep up in 3 steps (CPU of the load generator)." in text
    assert "Gates of the experiment, each by its worst step" in text


def test_a_result_without_confirmation_is_wrong(swept: Document) -> None:
    swept["results"]["rest"]["rate"] = None
    assert doubts_about(swept, "rest") == [Doubt("no rate was confirmed", WRONG)]
    assert "WRONG: rest: no rate was confirmed" in shown(swept)


def test_steal_broken_promises_and_early_ends_are_doubts(swept: Document) -> None:
    confirming: dict[str, Any] = {"phase": "confirm", "position": 4, "rate": 40.0, "holds": True}
    swept["steps"][0]["broken"] = ["orders are paid"]
    swept["steps"][3] = step(**confirming, steal_share=0.03)
    assert doubts_about(swept, "hybrid") == [
        Doubt("invariant broken: orders are paid", WRONG),
        Doubt("CPU steal: 3.00 %, not below 2 %", NOISY),
    ]
    swept["steps"][3] = step(**confirming, other_cores=0.4)
    assert doubts_about(swept, "hybrid")[1].text == "CPU of other programs: 0.400 cores, not below 0.25 cores"
    swept["results"]["hybrid"]["stopped"] = "order died"
    assert doubts_about(swept, "hybrid")[0].text == "stopped: order died"
    assert doubts_about(swept, "grpc") == [Doubt("not finished", WRONG)]


def test_gates_of_the_search_are_not_those_of_the_result(swept: Document) -> None:
    swept["steps"][2] = step(position=3, steal_share=0.03)
    assert doubts_about(swept, "hybrid") == []


def test_the_report_says_what_the_terminal_says(swept: Document, tmp_path: Path) -> None:
    report_of(swept, tmp_path)
    html, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    for written in (html, text):
        assert "hybrid holds 40 journeys a second with p99 below 100 ms" in written
        assert "rest holds at least 40 journeys a second" in written
        assert "VALID:" in written
    assert html.count("<svg role") >= 5
    assert page_of(tmp_path).sections == ["results", "validity", "curves", "steps", "setup", "manifest"]
    assert {path.stem for path in (tmp_path / "csv").iterdir()} >= {"capacity", "steps", "gates", "setup", "manifest"}


def test_a_stress_test_shows_what_failed_and_how(tmp_path: Path) -> None:
    stressed = synthetic_document("stress")
    report_of(stressed, tmp_path)
    text = (tmp_path / "report.md").read_text()
    fails = "From 1,000 users on, 0.1 % of the journeys or more fail."
    for said in (fails, "timeout: it took 5 s", "closed loop of more and more users"):
        assert said in text
    assert fails in " ".join(shown(stressed).split())


def test_an_overload_shows_what_of_it_ended_ok_and_how_soon_it_was_over(tmp_path: Path) -> None:
    overloaded = synthetic_document("overload")
    assert report_of(overloaded, tmp_path) == (tmp_path / "report.html", VALID)
    text = (tmp_path / "report.md").read_text()
    for said in (
        "hybrid holds 40 journeys a second. At 5 times that rate, it completes 38.0 a second, 95 % of the 40, with "
        "p99 at 450 ms. It recovers within 5 s after each peak.",
        "rest holds 40 journeys a second. At 5 times that rate, it completes 10.0 a second, 25 % of the 40, with "
        "p99 at 450 ms. It had not recovered from a peak when the load ended.",
        "in peaks of 1 and 5 times what each holds",
    ):
        assert said in text
    rows = (tmp_path / "csv" / "peaks.csv").read_text().splitlines()
    assert len(rows) == 5
    assert "it completes 10.0 a second, 25 %" in " ".join(shown(overloaded).split())


@pytest.mark.parametrize(
    ("p99", "failures", "said"),
    [
        (60.0, 0, "capacity= says that rest holds 40 journeys a second. At 5 times"),
        (130.0, 0, "a second, but it did not hold that rate in this run (p99 was 130 ms, 0 failed). At 5"),
        (60.0, 9, "a second, but it did not hold that rate in this run (p99 was 60.0 ms, 9 failed). At 5"),
    ],
)
def test_a_capacity_that_was_given_is_not_said_to_be_held(p99: float, failures: int, said: str) -> None:
    overloaded = synthetic_document("overload")
    overloaded["options"]["capacity"] = {"rest": 40.0}
    single = next(step for step in overloaded["steps"] if step["topology"] == "rest")
    single["latency_ms"]["p99"], single["errors"]["server"] = p99, failures
    assert said in " ".join(shown(overloaded).split())


def test_an_overload_of_nothing_says_what_to_give(tmp_path: Path) -> None:
    overloaded = synthetic_document("overload")
    overloaded["results"]["rest"]["rate"] = None
    report_of(overloaded, tmp_path)
    said = "rest holds no rate with p99 below 100 ms, so there is nothing to multiply. Give a higher objective=, or"
    assert said in (tmp_path / "report.md").read_text()


def test_an_interrupted_run_is_never_shown_without_the_word(swept: Document, tmp_path: Path) -> None:
    swept["complete"] = False
    report_of(swept, tmp_path)
    assert "WRONG" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "report.md").read_text().startswith("# WRONG")
    assert "interrupted" in (tmp_path / "report.md").read_text()


def test_a_document_is_read_again_and_one_of_another_schema_is_refused(swept: Document, tmp_path: Path) -> None:
    assert report_of(swept, tmp_path) == (tmp_path / "report.html", VALID)
    swept["schema"] = 1
    with pytest.raises(MalformedRunError, match=r"sweep.json: the file has schema 1 and this version"):
        report_of(swept, tmp_path)
