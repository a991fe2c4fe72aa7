"""The report of a made-up experiment over distances."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hops.kinds.rtt.conclusions import rtt_sentences
from hops.kinds.rtt.document import check_of
from hops.run.files import SUMMARY, read_document
from synthetic.experiment import Noise
from synthetic.of_axes import arms_at_distances

from ...report.pages import csv_rows, markdown_of, page_of, reported_run


@pytest.fixture(scope="module")
def distant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rtt") / "run"
    calm = Noise(sigma=0.1, block=0.01, trial=0.005)
    arms = arms_at_distances(("rest", "hybrid"), (0.0, 20.0, 60.0))
    return reported_run(folder, kind="rtt", arms=arms, blocks=3, journeys_per_trial=300, noise=calm)


@pytest.fixture
def text(distant: Path) -> str:
    return markdown_of(distant)


def test_it_begins_with_what_distance_does(text: str) -> None:
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[:2] == ["What distance does", "Where the wait goes"]
    assert "What this run says" not in headings
    assert re.search(r"Fastest over the whole mix at p50, by the round-trip time: rest at 0.* ms", text)
    assert re.search(r"In 16 of 16 cases \(a journey in a topology\), p50 grows .* to within 5 %", text)


def test_a_break_even_is_given_as_measured_and_as_predicted(text: str) -> None:
    figure = r"from \d+\.\d ms \(.* to \d+\.\d\) on"
    assert re.search(
        rf"hybrid and rest, order_history: measured, hybrid {figure}; predicted, hybrid {figure}: "
        "they agree",
        text,
    )


def test_a_single_break_even_is_not_counted(distant: Path) -> None:
    summary = read_document(distant / SUMMARY)
    check = check_of(summary)
    shown = next(row for row in check["break_evens"] if row["difference"] is not None)
    for verdict, said in (("agree", "predicted agrees within"), ("differ", "does not agree within")):
        check["break_evens"] = [{**shown, "verdict": verdict}]
        *_, last = rtt_sentences(summary)
        assert last.startswith("The one break-even that is shown both as measured and as predicted")
        assert said in last


def test_the_arms_are_listed_as_they_ran(distant: Path, text: str) -> None:
    assert "3 blocks of 6 arms (one for each topology and round-trip time) in random order" in page_of(distant).text
    assert re.search(r"network: 0, 20 and [0-9]+ ms, by arm, connections open", text)


def test_every_point_and_every_pair_has_a_row_of_figures(distant: Path) -> None:
    tables = {name: csv_rows(distant, name) for name in ("rtt_fastest", "rtt_slopes", "rtt_break_evens", "rtt_points")}
    journeys = 8
    assert {name: len(rows) for name, rows in tables.items()} == {
        "rtt_fastest": journeys + 1,
        "rtt_slopes": 2 * journeys,
        "rtt_break_evens": journeys + 1,
        "rtt_points": 2 * 2 * (journeys + 1),
    }
    (history,) = [row for row in tables["rtt_break_evens"] if row["journey"] == "order_history"]
    assert float(history["measured_ms_low"] or 0) < float(history["measured_ms"]) < float(history["measured_ms_high"])


def test_the_arms_of_a_run_are_compared_with_the_model_by_topology(distant: Path) -> None:
    check = check_of(read_document(distant / SUMMARY))
    assert check["rtts_ms"] == [0.0, 20.0, 60.0]
    assert check["topologies"] == ["rest", "hybrid"]
    assert all(abs(row["ratio"]["value"] - 1) < 0.05 for row in check["slopes"])
    assert sum(row["verdict"] == "agree" for row in check["points"]) > 0.85 * len(check["points"])
    (history,) = [row for row in check["break_evens"] if row["journey"] == "order_history"]
    # rest needs two round trips, and hybrid one, but hybrid's gateway takes time
    assert history["measured"]["sooner"] == "hybrid"
    assert history["verdict"] == "agree"


def test_arms_are_compared_at_one_distance_only(distant: Path) -> None:
    assert {(row["left"], row["right"]) for row in read_document(distant / SUMMARY)["comparisons"]} == {
        ("rest-0ms", "hybrid-0ms"), ("rest-20ms", "hybrid-20ms"), ("rest-60ms", "hybrid-60ms"),
    }  # fmt: skip


def test_measured_points_of_all_distances_are_on_the_predicted_curves(distant: Path) -> None:
    distance = read_document(distant / SUMMARY)["distance"]
    row = distance["journeys"]["order_history"]
    assert list(row["curves"]) == ["rest", "hybrid"]
    for name, points in row["measured"].items():
        assert [point["rtt_ms"] for point in points] == [0, 20, 60]
        for point in points:
            at = distance["grid_ms"].index(point["rtt_ms"])
            assert point["value"] == pytest.approx(row["curves"][name][at], rel=0.1)
