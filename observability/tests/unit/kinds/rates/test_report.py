"""The report of a made-up experiment over rates."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hops.kinds import analyse
from hops.kinds.rates.conclusions import rates_sentences
from hops.kinds.rates.document import rates_of
from hops.run.files import SUMMARY, RunFiles, read_document
from synthetic.experiment import Noise
from synthetic.of_axes import arms_at_rates
from synthetic.run import Arm

from ...report.pages import check_terminal, csv_rows, markdown_of, reported_run


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rest takes a third longer for each 20 journeys a second; hybrid always takes the same time."""
    folder = tmp_path_factory.mktemp("rates") / "run"
    calm = Noise(sigma=0.1, block=0.01, trial=0.005)
    arms = [
        replace(arm, parts=lambda parts, rate=arm.rate: {name: ms * (1 + rate / 60) for name, ms in parts.items()})
        if arm.topology == "rest"
        else arm
        for arm in arms_at_rates(("rest", "hybrid"), (10.0, 30.0, 60.0))
    ]
    return reported_run(folder, kind="rates", arms=arms, blocks=3, journeys_per_trial=300, noise=calm)


@pytest.fixture
def text(loaded: Path) -> str:
    return markdown_of(loaded)


def test_it_begins_with_what_load_does(text: str) -> None:
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[:2] == ["What load does", "Where the wait goes"]
    assert re.search(r"Fastest over the whole mix at p50, by journeys a second: rest at 10.*; hybrid at .*60", text)
    assert re.search(r"rest and hybrid, p50: hybrid from \d+\.\d journeys a second \(.*\) on", text)
    assert re.search(r"fills (the machine's 2 cores|.*'s event loop) at [\d.]+ journeys a second", text)


def test_the_terminal_says_what_the_page_says(loaded: Path) -> None:
    check_terminal(loaded, least=30)


def test_each_arm_each_pair_and_what_is_full_have_rows(loaded: Path) -> None:
    assert len(csv_rows(loaded, "rates_points")) == 6
    assert len(csv_rows(loaded, "rates_crossings")) == 2
    assert len(csv_rows(loaded, "rates_crossings_by_journey")) == 2 * 8
    assert {row["topology"] for row in csv_rows(loaded, "rates_fillings")} == {"rest", "hybrid"}


@pytest.mark.parametrize(("low", "first"), [(50.0, True), (30.0, False), (None, False)])
def test_a_topology_is_full_before_others_only_if_their_intervals_begin_later(
    loaded: Path, low: float | None, first: bool
) -> None:
    summary = read_document(loaded / SUMMARY)
    full = {"rest": (30.0, [25.0, 40.0]), "hybrid": (60.0, [low, 90.0])}
    summary["rates"]["fillings"] = [
        {"topology": name, "component": "machine", "limit": 2.0, "cores": 1.0, "at": {"value": value, "ci95": ends}}
        for name, (value, ends) in full.items()
    ]
    assert rates_sentences(summary)[-1].endswith(", before any other topology.") is first


def test_the_picture_is_latency_over_the_rate(loaded: Path) -> None:
    page = (loaded / "report.html").read_text(encoding="utf-8")
    titles = re.findall(r'role="img" aria-label="([^:]*over the rate):', page)
    assert titles == ["p50 over the rate", "mean over the rate", "p99 over the rate", "CPU of a journey over the rate"]


@pytest.mark.parametrize(("places", "equal"), [(("20pct", "80pct"), []), (("20", "80pct"), [20.0])])
def test_percentages_are_no_rates_that_topologies_share(
    places: tuple[str, str], equal: list[float], make_run: Callable[..., RunFiles]
) -> None:
    arms = [Arm(f"rest-{place}", "rest", rate=float(place.removesuffix("pct"))) for place in places]
    run = make_run(kind="rates", arms=arms, blocks=3, journeys_per_trial=300)
    rates = rates_of(analyse(run, name="night"))
    assert [arm["rate"] for arm in rates["arms"]] == [20.0, 80.0]
    assert (rates["equal"], rates["crossings"]) == (equal, [])
    assert {row["topology"] for row in rates["fillings"]} == {"rest"}
