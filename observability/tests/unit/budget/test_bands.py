"""Bands of traces, exemplars, and a comparison of traced with measured times."""

from __future__ import annotations

import polars as pl
import pytest

from hops.budget.bands import banded_budgets, exemplars
from hops.run.rows import HOPS


def hops_with(totals_ms, journey="browse"):
    rows = []
    for index, total_ms in enumerate(totals_ms):
        trace_id = f"{journey}-{index}"
        ns = int(total_ms * 1e6)
        rows += [
            (trace_id, journey, "web", "work:order", ns - ns // 4, 1, 1, 0),
            (trace_id, journey, "web", "client", ns // 4, 1, 1, 0),
            (trace_id, journey, "web", "db:order", 0, 3, 0, 0),
        ]
    return pl.DataFrame(rows, schema=HOPS, orient="row")


def test_each_band_adds_up_to_the_mean_total_of_its_traces():
    bands = banded_budgets(hops_with(range(1, 201)))
    sums = {band: sum(parts.values()) for band, parts in bands.items()}
    # 1..200: the middle tenth is 91..110, the last hundredth 199 and 200.
    assert sums == pytest.approx({"mean": 100.5, "p50_band": 100.5, "p99_band": 199.5})
    assert list(bands["mean"]) == ["work:order", "client"]


@pytest.mark.parametrize(
    ("totals_ms", "p50", "p99"),
    [([7.0], 7.0, 7.0), ([1.0, 9.0], 1.0, 9.0), ([1.0, 2.0, 9.0], 2.0, 9.0), ([5.0] * 4, 5.0, 5.0)],
    ids=["one", "two far apart", "three", "all equal"],
)
def test_few_traces_have_bands_too(totals_ms, p50, p99):
    bands = banded_budgets(hops_with(totals_ms))
    assert sum(bands["p50_band"].values()) == pytest.approx(p50)
    assert sum(bands["p99_band"].values()) == pytest.approx(p99)


def test_no_traces_have_empty_bands():
    assert banded_budgets(HOPS.to_frame()) == {"mean": {}, "p50_band": {}, "p99_band": {}}
    assert exemplars(HOPS.to_frame()) == {}


def test_journeys_weigh_as_often_as_they_were_traced():
    both = pl.concat([hops_with([1.0] * 3), hops_with([9.0], "login")])
    assert sum(banded_budgets(both)["mean"].values()) == pytest.approx(3.0)


def test_exemplars_are_nearest_to_the_percentiles():
    found = exemplars(pl.concat([hops_with(range(1, 102)), hops_with([500], "login")]))
    assert found["browse"] == {"p50": "browse-50", "p99": "browse-99"}
    assert found["login"] == {"p50": "login-0", "p99": "login-0"}
    assert set(found) == {"all", "browse", "login"}
