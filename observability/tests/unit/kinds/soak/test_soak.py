"""What a run reports about growth, from rows whose true growth is known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hops.elements.compared import TOPOLOGY
from hops.gates.verdict import failing_gates
from hops.kinds import make_report
from hops.kinds.soak.analysis import KIND, Change, Soak, changes_of, growing
from hops.kinds.soak.tables import held_table, sentences, shop_table
from hops.kinds.soak.trends import trend
from hops.run.documents.gate import VALID, WRONG
from hops.run.files import SUMMARY, RunFiles, read_document
from hops.run.rows import LOOKS, write_parquet
from synthetic.run import Arm, write_generated_run

HOUR_S = 3_600.0
AT_S = np.linspace(0.0, HOUR_S, 120)
SEED = 1
COMPONENTS = ("edge", "order", "user")


def memory(growth_mb: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Makes memory with noise of 0.3 MiB that fills to 50 MiB in a tenth of an hour, and that also grows steadily."""
    filling = 20.0 * np.minimum(AT_S / (0.1 * HOUR_S), 1.0)
    return 30.0 + filling + np.random.default_rng(SEED).normal(0.0, 0.3, AT_S.size) + growth_mb * AT_S / HOUR_S


def looks(growth_mb: float = 0.0, descriptors: float = 0.0, hours: float = 1.0) -> pl.DataFrame:
    """Samples of three components: the memory of `order` grows, and so do the descriptors of `user`."""
    of_each = [
        pl.DataFrame(
            {
                "at_s": AT_S * hours, "held": 0, "component": name,
                "memory_mb": memory(growth_mb if name == "order" else 0.0),
                "descriptors": np.floor(20 + (descriptors if name == "user" else 0.0) * AT_S / HOUR_S).astype(int),
                "threads": 12, "connections": 12, "database_mb": 40.0 + AT_S / 360.0,
            },
            schema=LOOKS,
        )
        for name in COMPONENTS
    ]  # fmt: skip
    return pl.concat(of_each).select(pl.lit(1, pl.Int32).alias("block"), pl.lit("rest").alias("topology"), pl.all())


def journeys(growth_ms: float = 0.0) -> pl.DataFrame:
    """Makes one journey every 2 s for an hour."""
    at_s = np.arange(0.0, HOUR_S, 2.0)
    latency_ms = 10.0 + np.random.default_rng(SEED).normal(0.0, 0.2, at_s.size) + growth_ms * at_s / HOUR_S
    of_each = {"intended_ns": (at_s * 1e9).astype(int), "latency_ns": (latency_ms * 1e6).astype(int)}
    return pl.DataFrame({"topology": "rest", "outcome": "ok", **of_each})


def soak(rows: pl.DataFrame | None = None, sent: pl.DataFrame | None = None) -> Soak:
    none = pl.DataFrame()
    observed = {"looks": looks() if rows is None else rows}
    run = RunFiles(Path(), {}, [], journeys() if sent is None else sent, none, none, none, observed)
    return Soak(minutes=60.0, rate=20.0, changes=list(changes_of(run, "rest")))


def what(changes: list[Change]) -> list[tuple[str, str]]:
    return [(change["component"], change["measure"]) for change in changes]


def test_one_time_filling_is_no_growth() -> None:
    assert list(sentences(soak())) == ["rest: nothing that should stay constant was shown to grow."]
    assert {row[-1].text for row in held_table(soak(), TOPOLOGY).rows} == {"steady"}


def test_a_leak_is_named_by_component_and_by_what_it_leaks() -> None:
    leaking = soak(looks(growth_mb=6.0, descriptors=5.0))
    assert what(growing(leaking["changes"])) == [("order", "memory_mb"), ("user", "descriptors")]
    of_memory, of_descriptors = sentences(leaking)
    assert of_memory.startswith("rest: order grows by ")
    assert of_memory.endswith(" MiB of memory an hour.")
    assert of_descriptors.endswith(" descriptors an hour.")
    verdicts = {row[1].text: row[-1].text for row in held_table(leaking, TOPOLOGY).rows}
    assert verdicts == {"edge": "steady", "order": "GROWS: MiB of memory", "user": "GROWS: descriptors"}


def test_latencies_that_rise_are_growth() -> None:
    assert what(growing(soak(sent=journeys(growth_ms=3.0))["changes"])) == [("journeys", "p50"), ("journeys", "p99")]


def test_a_short_load_tells_no_growth_and_leaves_slopes_out() -> None:
    short = soak(looks(growth_mb=6.0, hours=1 / 60), journeys().head(3))
    assert growing(short["changes"]) == []
    (sentence,) = sentences(short)
    assert sentence == "rest: the load was too short to tell growth from what fills once; give minutes=60 or more."
    assert [row[3].text for row in shop_table(short, TOPOLOGY).rows[1:]] == ["too short", "too short"]


def test_processes_that_cannot_be_seen_are_not_steady() -> None:
    (sentence,) = sentences(soak(looks().clear()))
    assert sentence == "rest: none of its processes could be seen, so nothing shows whether they grow."


def test_slopes_are_found_and_their_intervals_hold_them() -> None:
    grows = trend(AT_S.tolist(), memory(growth_mb=6.0).tolist())
    assert grows.ci95[0] < 6.0 < grows.ci95[1]
    assert grows.per_hour == pytest.approx(6.0, abs=0.7)
    assert trend(AT_S[:5].tolist(), [1.0] * 5) is None
    assert trend([], []) is None
    assert shop_table(soak(), TOPOLOGY).rows[0][3].value == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize(
    ("rows", "verdict", "failing"),
    [
        (looks(), VALID, []),
        (looks(growth_mb=6.0), WRONG, ["growing"]),
        (looks(hours=1 / 60), WRONG, ["too_short"]),
        (looks().clear(), WRONG, ["unseen"]),
    ],
)
def test_growth_decides_the_verdict(rows: pl.DataFrame, verdict: str, failing: list[str], tmp_path: Path) -> None:
    write_generated_run(tmp_path, blocks=1, journeys_per_trial=420, kind=KIND, arms=[Arm("rest", "rest")])
    write_parquet(rows, tmp_path / "looks.parquet")
    page, found = make_report(tmp_path)
    assert found == verdict
    assert failing_gates(read_document(tmp_path / SUMMARY)["gates"]) == failing
    text = page.read_text(encoding="utf-8")
    first, _, _ = text.partition('<details class="fold"')
    assert "What grows" in first
    assert 'id="table-held"' in first
    assert "the first 20&nbsp;% is left out" in first.replace("\N{NO-BREAK SPACE}", "&nbsp;")
    assert "Which is the fastest" not in text
    assert re.search(r"<h1>(<span .*</span> )?rest</h1>", text)
