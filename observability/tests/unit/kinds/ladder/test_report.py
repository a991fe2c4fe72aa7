"""The report of a made-up ladder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from synthetic.of_ladder import synthetic_arms

from ...report.pages import SECTIONS, page_of, reported_run


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ladder") / "run"
    arms = synthetic_arms(("no-edge", "edge", "sidecars", "mtls", "untraced"))
    # the wait is outside the sidecars, in a part that does not belong to them
    slowed = {"sidecars": {"work:product": 4.0}}
    return reported_run(folder, kind="ladder", arms=arms, blocks=3, journeys_per_trial=400, delays_ms=slowed)


def test_a_ladder_begins_with_its_steps_and_compares_nothing_else(climbed: Path) -> None:
    report = page_of(climbed)
    assert report.sections == ["ladder", *(name for name in SECTIONS[1:] if name != "distance")]
    head, *steps = report.tables["ladder"]
    assert [cell.strip() for cell in head[:3]] == ["step", "without", "with"]
    assert [step[0].strip() for step in steps] == ["edge", "sidecars", "mTLS", "tracing"]
    compared = {name for name in report.tables if name.startswith("hop_differences_")}
    assert compared == {f"hop_differences_{pair}" for pair in ("edge_no-edge", "sidecars_edge", "mtls_sidecars")}


def test_a_ladder_says_where_the_time_is_that_two_measurements_do_not_share(climbed: Path) -> None:
    text = (climbed / "report.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"^- sidecars: .*$", text, re.MULTILINE)
    assert re.search(r"They differ by \d\.\d ms", sentence)
    assert re.search(r"Parts that do not belong to the step changed by \d\.\d ms .*: services by", sentence)


def test_a_ladder_s_arms_are_drawn_and_listed_as_they_ran(climbed: Path) -> None:
    tables = page_of(climbed).tables
    callees = {(row[0].strip(), row[2].strip()) for row in tables["links"] if row[1].strip() == "web"}
    assert ("edge", "edge") in callees
    assert ("no-edge", "graphql-gateway") in callees
    facts = {row[0].strip(): row[1].strip() for row in tables["setup"]}
    assert facts["experiment"].startswith("3 blocks of 5 arms of a ladder in random order")
    assert facts["tracing"] == "20 or 0 % of the journeys, chosen at random"
    assert facts["switches of no-edge"] == "edge none, mesh none, mtls off, trace 0.2"
