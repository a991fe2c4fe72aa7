"""The chapter about distance: its tables have the figures of the summary, and its charts mark them."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import polars as pl
import pytest

from hops.conclusions.distance import break_even_words
from hops.elements.element import Figures
from hops.kinds import analyse
from hops.kinds.compare.kind import KIND
from hops.report.csv_files import tables_of
from hops.report.sections.distance import distance_chart, section
from hops.report.view import View
from hops.run.files import RunFiles
from hops.units import ALL
from synthetic.experiment import Noise

DRAWN = True

CALM = Noise(sigma=0.1, correlation=0.0, block=0.01, trial=0.01)


@pytest.fixture(scope="module")
def view(make_run: Callable[..., RunFiles]) -> View:
    run = make_run(topologies=("rest", "hybrid"), blocks=4, journeys_per_trial=500, noise=CALM)
    return View(analyse(run, name="night"), run, KIND)


def test_break_evens_and_named_networks_are_those_of_the_summary(view: View) -> None:
    distance = view.summary["distance"]
    tables = {table.key: table for table in tables_of(section(view, distance).elements)}
    (pair,) = distance["journeys"]["order_history"]["pairs"]
    assert pair["verdict"] == "from"
    (row,) = [row for row in tables["break_even_turns"].rows if row[0].text == "order_history"]
    assert [cell.text for cell in row[:4]] == ["order_history", "hybrid", "rest", break_even_words(pair)]
    assert (row[4].value, list(row[4].ends or ())) == (pair["at_ms"], pair["ci95_ms"])
    assert len(tables["break_even"].rows) == len(distance["journeys"])
    named = {(row[0].text, row[1].text): row for row in tables["distance_named"].rows}
    place = distance["named"]["4g"]
    column = [one.name for one in tables["distance_named"].columns].index("4g")
    assert place["fastest"]["order_history"] == ["hybrid"]
    hybrid, rest = (named["order_history", name][column] for name in ("hybrid", "rest"))
    assert (hybrid.value, hybrid.note) == (place["p50_ms"]["order_history"]["hybrid"]["value"], "✓")
    assert rest.note == ""


def test_every_journey_has_a_chart_and_the_mix_is_first(view: View) -> None:
    elements = section(view, view.summary["distance"]).elements
    (figures,) = [one for one in elements if isinstance(one, Figures)]
    assert [chart.title for chart in figures.charts] == [ALL, *view.journeys]
    history = next(chart for chart in figures.charts if chart.title == "order_history")
    assert re.search(r"hybrid against rest: hybrid from \d", history.description)
    for network in ("wifi", "4g", "3g"):
        assert f">{network}<" in history.svg


def test_measured_intervals_stay_within_the_chart(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    distance = deepcopy(view.summary["distance"])
    point, *_ = next(iter(distance["journeys"][ALL]["measured"].values()))
    point["ci95"] = [0.01, 10_000.0]
    monkeypatch.setattr("hops.report.sections.distance.draw", lambda *arguments: arguments)
    _, _, spec, _ = distance_chart(view, distance, ALL)
    low, high = spec["layer"][3]["encoding"]["y"]["scale"]["domain"]
    assert low < 0.01
    assert high > 10_000


def test_channels_have_a_table_where_the_workload_gives_them_networks(view: View) -> None:
    distance = view.summary["distance"]
    keys = {table.key for table in tables_of(section(view, distance).elements)}
    assert "distance_channels" not in keys
    named = distance["named"]
    channels = {"web": named["wifi"], ALL: named["4g"] | {"network": None}}
    with_channels = section(view, {**distance, "channels": channels})
    table = next(one for one in tables_of(with_channels.elements) if one.key == "distance_channels")
    assert [row[1].text for row in table.rows] == ["wifi (2 ms, 30/15 Mbit/s)", "each its own"]


def test_journeys_that_always_failed_have_no_curve(view: View) -> None:
    failed = pl.when(pl.col("journey") == "login").then(pl.lit("server")).otherwise("outcome").alias("outcome")
    run = replace(view.run, journeys=view.run.journeys.with_columns(failed))
    partly = View(analyse(run, name="night"), run, KIND)
    elements = section(partly, partly.summary["distance"]).elements
    (figures,) = [one for one in elements if isinstance(one, Figures)]
    assert "login" not in [chart.title for chart in figures.charts]
    nothing = replace(run, journeys=run.journeys.with_columns(pl.lit("server").alias("outcome")))
    summary = analyse(nothing, name="night")
    assert summary["distance"]["journeys"]["all"]["curves"] == {}
    assert section(View(summary, nothing, KIND), summary["distance"]).key == "distance"
