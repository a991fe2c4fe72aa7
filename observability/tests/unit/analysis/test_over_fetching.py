"""What over-fetching costs: bytes, time at named networks, and from which bandwidth on it matters."""

from __future__ import annotations

import json
import re

import pytest

from hops.analysis.over_fetching import MATTERS
from hops.conclusions.comparison import grouped_conclusions
from hops.conclusions.over_fetching import over_fetching_headline, over_fetching_sentences, selection_sentences
from hops.kinds import analyse
from hops.kinds.decide.analysis import Customers, decide
from hops.kinds.decide.conclusions import decision_lines
from hops.run.files import SAMPLE_FILE, read_run
from hops.tables.network import over_fetching_table, selection_table
from hops.tables.view import SummaryView
from synthetic.run import Arm, write_generated_run

BEYOND = {"rest": 6400, "hybrid": 0, "twin": 10}
"""Mean bytes of `product` that no screen shows, by topology."""


def add_sample(folder, arm, beyond):
    """Adds two products whose answers have, on average, this many bytes that no screen shows."""
    file = folder / "trials" / f"1-{arm}" / SAMPLE_FILE
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    (product,) = (row for row in rows if row["journey"] == "product")
    for off in (-1, 1):
        sent = beyond + off * (beyond > 0)
        counts = {"fields": 7, "fields_beyond": 3 * (beyond > 0), "bytes_beyond": 2 * sent, "packed_beyond": sent}
        rows.append({**product, **counts})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_generated_run(folder, topologies=list(BEYOND), blocks=3, journeys_per_trial=300)
    for topology, beyond in BEYOND.items():
        add_sample(folder, topology, beyond)
    return read_run(folder)


@pytest.fixture(scope="module")
def rows(summary):
    return {row["topology"]: row for row in summary["over_fetching"]}


def test_bytes_are_those_of_the_sample_with_intervals(rows):
    assert {name: (row["fields"], row["fields_beyond"]) for name, row in rows.items()} == {
        "rest": (7, 3),
        "hybrid": (7, 0),
        "twin": (7, 3),
    }
    assert {name: row["sent_beyond"]["value"] for name, row in rows.items()} == BEYOND
    low, high = rows["rest"]["sent_beyond"]["ci95"]
    assert low < BEYOND["rest"] < high
    assert rows["rest"]["bytes_beyond"]["value"] == 2 * BEYOND["rest"]
    assert {row["journey"] for row in rows.values()} == {"product"}


def test_time_is_that_of_the_bytes_at_the_bandwidth(rows, summary):
    rest = rows["rest"]
    assert rest["ms"]["3g"] == pytest.approx(BEYOND["rest"] * 8 / 1.6e6 * 1e3)
    p50 = summary["distance"]["named"]["3g"]["p50_ms"]["product"]["rest"]["value"]
    assert rest["p50_share"]["3g"] == pytest.approx(rest["ms"]["3g"] / p50)


def test_it_matters_from_the_bandwidth_on_at_which_it_takes_the_share_of_p50(rows, summary):
    mbit = rows["rest"]["matters_below_mbit"]
    distance = summary["distance"]["journeys"]["product"]
    near = distance["own_ms"]["rest"]["value"]
    bits_ms = 8 * distance["bytes"]["rest"]["down"] / mbit / 1e3
    assert 8 * BEYOND["rest"] / mbit / 1e3 == pytest.approx(MATTERS * (near + bits_ms))
    assert rows["hybrid"]["matters_below_mbit"] is None
    assert rows["twin"]["matters_below_mbit"] is None


def test_sentences_say_who_over_fetches_what_it_takes_and_where_it_matters(summary):
    said = over_fetching_sentences(summary["over_fetching"])
    assert said[0] == "For product, hybrid over-fetches nothing."
    assert said[1].startswith("For product, rest over-fetches 6,400 bytes (6,387 to 6,413) of an answer, ")
    assert "4.3 ms on 4g. They take 5 % of p50 below " in said[1]
    assert said[2].endswith("They take less than 5 % of p50 at any bandwidth.")


def test_the_headline_has_the_worst_case(summary):
    *_, last = grouped_conclusions(summary).headline
    assert re.match(r"Over-fetching takes 5 % of p50 or more below \d+ Mbit/s, in the worst case: rest sends ", last)
    assert last.endswith("6,400 bytes (6,387 to 6,413) beyond the screen of product, 4.3 ms on 4g.")
    rows = summary["over_fetching"]
    less = over_fetching_headline([row for row in rows if row["topology"] != "rest"])
    assert less == ["Over-fetching takes less than 5 % of p50 at any bandwidth."]
    assert over_fetching_headline([row for row in rows if row["topology"] == "hybrid"]) == ["Nothing is over-fetched."]
    assert over_fetching_headline([]) == []


def test_decide_and_the_report_say_it(run, summary):
    decided = decision_lines(decide(run, summary, Customers("default", None, {})))
    lines = [text for about, text in decided if about == "over-fetching"]
    assert [text.rpartition(" [")[0] for text in lines] == over_fetching_sentences(summary["over_fetching"])
    table = over_fetching_table(SummaryView(summary))
    assert len(table.rows) == len(BEYOND)


def test_a_first_topology_whose_answers_cannot_be_compared_is_left_out(tmp_path):
    write_generated_run(tmp_path, topologies=["rest", "hybrid"], blocks=1, journeys_per_trial=60)
    add_sample(tmp_path, "hybrid", 10)
    (row,) = analyse(read_run(tmp_path), name="night")["over_fetching"]
    assert (row["topology"], row["sent_beyond"]["value"]) == ("hybrid", 10)


def test_a_run_without_such_screens_says_nothing_of_it(make_run):
    usual = analyse(make_run(topologies=["rest"], blocks=1, journeys_per_trial=60), name="night")
    assert "over_fetching" not in usual
    assert over_fetching_table(SummaryView(usual)) is None


def without_half_of_the_work(parts):
    return {part: ms / 2 if part.startswith("work:") else ms for part, ms in parts.items()}


@pytest.fixture(scope="module")
def selecting(tmp_path_factory):
    """REST, whose services work half as long once clients select fields; and gRPC, which runs in only one arm."""
    folder = tmp_path_factory.mktemp("selecting")
    arms = [
        Arm("rest-select-all", "rest", {"selection": "all"}, parts=without_half_of_the_work),
        Arm("rest-select-off", "rest", {"selection": "off"}),
        Arm("grpc-select-all", "grpc", {"selection": "all"}),
    ]
    write_generated_run(folder, kind="compare", arms=arms, blocks=4, journeys_per_trial=400, traced=1)
    add_sample(folder, "rest-select-all", 0)
    add_sample(folder, "rest-select-off", 500)
    run = read_run(folder)
    return run, analyse(run, name="night")


def test_what_selection_saves_is_split_by_part(selecting):
    _, summary = selecting
    product, whole = summary["selection"]
    assert [(row["journey"], row["usual"], row["selecting"]) for row in (product, whole)] == [
        ("product", "rest-select-off", "rest-select-all"),
        ("all", "rest-select-off", "rest-select-all"),
    ]
    for row in (product, whole):
        low, _ = row["parts_ms"]["services"]["ci95"]
        assert 0 < low < row["parts_ms"]["services"]["value"]
        assert sum(part["value"] for part in row["parts_ms"].values()) == pytest.approx(row["mean_ms"]["value"])
    assert product["cpu"] is None
    assert (whole["cpu"]["left"], whole["cpu"]["right"]) == ("rest-select-all", "rest-select-off")


def test_report_conclusions_and_decide_say_what_selection_saves(selecting):
    run, summary = selecting
    of_product, of_cpu = selection_sentences(summary["selection"])
    assert re.match(r"For product, rest-select-all saves .*\d ms \(\d.* of the services' work", of_product)
    assert ", compared with rest-select-off." in of_product
    assert of_cpu.startswith("No difference in CPU shown between rest-select-all and rest-select-off: ")
    assert {of_product, of_cpu} <= set(grouped_conclusions(summary).cost)
    lines = decision_lines(decide(run, summary, Customers("default", None, {})))
    decided = [text for about, text in lines if about == "selection"]
    assert [text.rpartition(" [")[0] for text in decided] == [of_product, of_cpu]
    assert "summary.json: selection" in dict(lines)["sources"]
    table = selection_table(SummaryView(summary))
    assert [[cell.text for cell in row[:3]] for row in table.rows] == [
        ["product", "rest-select-all", "rest-select-off"],
        ["all", "rest-select-all", "rest-select-off"],
    ]
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_what_is_not_shown_or_grows_is_said(selecting):
    _, summary = selecting
    product, _ = summary["selection"]

    def write(**parts):
        estimates = {name: {"value": value, "ci95": list(ends)} for name, (value, *ends) in parts.items()}
        (text,) = selection_sentences([{**product, "parts_ms": estimates}])
        return text

    assert write(edge=(0.1, -0.1, 0.3)) == (
        "For product, no part is shown to differ between rest-select-off and rest-select-all."
    )
    assert write(services=(-2.0, -3.0, -1.0), edge=(1.0, 0.5, 1.5)) == (
        "For product, rest-select-all saves 1.0 ms (0.5 to 1.5) of the edge, compared with rest-select-off. "
        "It adds 2.0 ms (1.0 to 3.0) to the services' work."
    )
    (unknown,) = selection_sentences([{**product, "mean_ms": {"value": 1.0, "ci95": [None, None]}}])
    assert unknown == "For product, too few journeys were traced to say what rest-select-all saves."


def test_arms_that_select_alike_save_nothing(summary):
    assert "selection" not in summary
    assert selection_table(SummaryView(summary)) is None
    assert selection_sentences([]) == []
