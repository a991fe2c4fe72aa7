"""What a comparison of versions finds: nothing, the name of a slower part, or answers that differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from hops.analysis.latencies import Latencies, latencies_of
from hops.elements.markdown import markdown
from hops.gates.verdict import failing_gates
from hops.kinds import analyse
from hops.kinds.compare_versions.analysis import PERCENTILES, WHOLE, VersionRow, version_rows, versions_in
from hops.kinds.compare_versions.kind import KIND
from hops.run.documents.summary import Summary
from hops.run.documents.trial import TrialRecord
from hops.run.files import RunFiles
from hops.run.rows import HOPS
from hops.tables.view import SummaryView
from synthetic.run import Arm

ARMS = [Arm("a", "hybrid"), Arm("b", "hybrid")]
ABOUT = {
    "checkouts": {side: {"given": f"branch-{side}", "commit": side * 40} for side in ("a", "b")},
    "allow_differences": [],
    "delay_b": "",
    "threshold": 0.1,
}


@pytest.fixture
def summarise(make_run: Callable[..., RunFiles]) -> Callable[..., Summary]:
    """Makes the summary of a made-up run, in which parts of b take longer by the given ms."""

    def make(*, blocks: int = 8, delays: Mapping[str, float] | None = None, **about: Any) -> Summary:
        options = {"journeys_per_trial": 200, "traced": 1.0, "kind": "compare-versions", "arms": ARMS}
        run = make_run(blocks=blocks, delays_ms={"b": delays or {}}, **options)
        return analyse(replace(run, manifest=run.manifest | ABOUT | about), name="night")

    return make


def report_of(summary: Summary) -> str:
    """Returns the first section of the report in Markdown, below its title."""
    return markdown(KIND.title(summary), [], [KIND.first_section(SummaryView(summary))])


def title_of(report: str) -> str:
    return report.partition("\n")[0]


def rows_of(summary: Summary) -> dict[str, VersionRow]:
    return {row["what"]: row for row in versions_in(summary)["rows"]}


def test_equal_versions_differ_in_nothing(summarise: Callable[..., Summary]) -> None:
    summary = summarise()
    rows = rows_of(summary)
    assert list(rows)[:3] == [WHOLE, *PERCENTILES]
    assert {row["verdict"] for row in rows.values()} == {"not_shown"}
    assert summary["beyond_threshold"] is False
    report = report_of(summary)
    assert "No difference between a and b is shown." in report
    assert "a is branch-a, commit aaaaaaaaaaaa." in report
    assert "No difference between a and b is shown" in title_of(report)


def test_a_slower_part_is_found_by_its_name(summarise: Callable[..., Summary]) -> None:
    summary = summarise(delays={"work:order": 3.0}, delay_b="order:3ms")
    rows = rows_of(summary)
    order = rows["work:order"]
    assert (order["verdict"], order["beyond"], summary["beyond_threshold"]) == ("slower", True, True)
    low, high = order["ci95"]
    assert 0 < low < high
    others = {name for name, row in rows.items() if row["verdict"] == "slower"} - {WHOLE, *PERCENTILES, "work:order"}
    assert others == set()
    report = report_of(summary)
    assert "b has an injected delay: order:3ms." in report
    assert "SLOWER by more than the threshold" in report
    assert re.search(r"b is slower than a in .*\bwork:order\b", title_of(report))


def test_a_faster_part_is_shorter_by_a_positive_amount(summarise: Callable[..., Summary]) -> None:
    report = report_of(summarise(delays={"work:order": -0.5}))
    assert re.search(r"b is faster than a: .*work:order by 0\.\d+ ms \(0\.\d+ to 0\.\d+\)", report)
    assert re.search(r"b is faster than a in .*\bwork:order\b", title_of(report))


def test_too_few_blocks_say_so(summarise: Callable[..., Summary]) -> None:
    summary = summarise(blocks=2)
    assert {row["verdict"] for row in rows_of(summary).values()} == {"unknown"}
    assert summary["beyond_threshold"] is None
    assert "not tested: needs 3 blocks" in report_of(summary)


@pytest.fixture(scope="module")
def differing(make_run: Callable[..., RunFiles]) -> RunFiles:
    """A run of one block, in which b answers `browse` differently."""
    run = make_run(blocks=1, journeys_per_trial=200, kind="compare-versions", arms=ARMS)
    of_b = (pl.col("topology") == "b") & (pl.col("journey") == "browse")
    answer = pl.when(of_b).then(pl.lit("1" * 64)).otherwise("answer_sha256")
    trials = [cast("TrialRecord", {**trial, "answers_sha256": trial["topology"] * 64}) for trial in run.trials]
    return replace(run, journeys=run.journeys.with_columns(answer_sha256=answer), trials=trials)


@pytest.mark.parametrize(("allowed", "differ"), [([], True), (["browse"], False), (["checkout"], True)])
def test_answers_must_be_equal_unless_they_may_differ(differing: RunFiles, allowed: list[str], differ: bool) -> None:
    run = replace(differing, manifest=differing.manifest | ABOUT | {"allow_differences": allowed})
    assert ("answers_differ" in failing_gates(analyse(run, name="night")["gates"])) is differ


def test_a_version_that_fails_half_of_its_journeys_is_compared_over_as_many_sections() -> None:
    rng = np.random.default_rng(2)
    latencies = {
        side: Latencies({"all": {block: rng.lognormal(2, 0.5, count) for block in range(12)}})
        for side, count in (("a", 300), ("b", 150))
    }
    hops = pl.DataFrame(schema={"block": pl.Int32, **HOPS})
    rows = {row["what"]: row for row in version_rows(latencies, {"a": hops, "b": hops}, {"checkout": 1.0})}
    assert [(rows[name]["verdict"], rows[name]["freedom"]) for name in PERCENTILES] == [
        ("not_shown", 11), ("not_shown", 5)
    ]  # fmt: skip


def test_equal_versions_do_not_differ_because_some_trials_are_slow() -> None:
    rng = np.random.default_rng(1)
    shown = sum(any(row["verdict"] in ("slower", "faster") for row in slow_trials(rng)) for _ in range(100))
    assert shown <= 5


def slow_trials(rng: np.random.Generator) -> list[VersionRow]:
    """Returns figures of 12 blocks of equal versions; the machine slows one trial in five to a ninth of its speed."""
    hops: dict[str, pl.DataFrame] = {}
    latencies: dict[str, Latencies] = {}
    for side in ("a", "b"):
        slow = np.repeat(np.where(rng.random(12) < 0.2, 9.0, 1.0), 20)
        parts = {name: rng.gamma(4.0, 0.5e6, 240) * slow for name in ("work:order", "work:user", "db:order")}
        traces = pl.DataFrame({"block": np.repeat(np.arange(1, 13), 20), "trace_id": [str(at) for at in range(240)]})
        traces = traces.with_columns(pl.lit("checkout").alias("journey"), *(pl.Series(*part) for part in parts.items()))
        hops[side] = traces.unpivot(index=["block", "trace_id", "journey"], variable_name="part", value_name="ns")
        whole = traces.select("journey", "block", outcome=pl.lit("ok"), latency_ns=pl.sum_horizontal(*parts))
        latencies[side] = latencies_of(whole)
    return version_rows(latencies, hops, {"checkout": 1.0})
