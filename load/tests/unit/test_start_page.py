"""The last run's budget on the page at the edge's root: from a real summary, or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from hops.kinds import analyse
from hops.run.files import SUMMARY, read_run, write_summary
from mesh.description.topology import load_topology
from mesh.native.start_page import read_budgets, start_page
from synthetic.run import write_generated_run


def test_the_parts_of_each_budget_add_up(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid", "rest"), blocks=2, journeys_per_trial=300)
    run = read_run(folder)
    summary = analyse(run, name="run")
    write_summary(summary, folder / SUMMARY)
    assert [one.topology for one in read_budgets(folder, "grpc")] == ["hybrid", "rest"]
    (shown,) = read_budgets(folder, "rest")
    mix = summary["topologies"]["rest"]["journeys"]["all"]
    assert shown.verdict == summary["verdict"]
    assert shown.p50 == mix["latency_ms"]["p50"]
    assert sum(ms for _, ms, _ in shown.parts) == pytest.approx(sum(mix["budget_ms"]["mean"].values()))
    page = start_page(load_topology("rest"), "http://127.0.0.1:1", {}, None, folder, "")
    assert f"{shown.p50:.1f} ms" in page


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"topologies": {"rest": {"journeys": {"all": {}}}}}'])
def test_a_run_without_budgets_does_not_keep_the_shop_from_starting(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "summary.json").write_text(text)
    assert read_budgets(tmp_path, "rest") == []
