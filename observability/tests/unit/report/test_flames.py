"""Flame graphs: drawn from the kept call paths, with the interval of each difference."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from hops.elements.element import Text
from hops.kinds import kind_of
from hops.report.sections.flames import LESS, MORE, difference_flame, flame_elements
from hops.report.view import View
from hops.run.files import SUMMARY, read_document, read_run

from .pages import page_of, reported_run

DRAWN = True


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, delays = tmp_path_factory.mktemp("flames") / "run", {"slow": {"work:product": 5.0}}
    return reported_run(folder, topologies=("hybrid", "slow"), blocks=3, journeys_per_trial=400, delays_ms=delays)


def drawings(folder: Path, ends: str) -> list[str]:
    """Returns the drawings whose descriptions end with this text."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    return re.findall(rf'aria-label="[^"]*{ends}"[^>]*>(.*?)</figure>', text, re.DOTALL)


def titles(drawing: str) -> list[str]:
    return re.findall(r"<path [^>]*><title>([^<]*)</title></path>", drawing)


def test_each_topology_has_a_mean_trace_with_the_whole_wait_at_its_root(run: Path) -> None:
    drawn = drawings(run, "by call path; figures in the table.")
    assert len(drawn) == 3  # two topologies and their difference
    heads, *_, total = page_of(run).tables["budget_parts_all"]
    for name, drawing in zip(("hybrid", "slow"), drawn, strict=False):
        assert f"client: {total[heads.index(f'{name}, mean ms')]} ms, own time" in drawing
        assert len(titles(drawing)) > 10
    assert "wire:client→edge" in re.sub(r"<title>.*?</title>", "", drawn[0])


def test_a_difference_has_its_interval_and_is_grey_if_that_includes_zero(run: Path) -> None:
    drawing = drawings(run, "by call path; figures in the table.")[-1]
    frames = re.findall(r"<path ([^>]*)><title>([^<]*)</title>", drawing)
    slowed = [style for style, title in frames if title.startswith("work:product: −")]
    assert slowed
    assert all(f'fill="{LESS}"' in style for style in slowed)
    grey = [title for style, title in frames if "var(--grid)" in style]
    assert grey
    for style, title in frames:
        ends = re.search(r"\((\S+) to (\S+)\) ms; hybrid \S+, slow \S+$", title)
        assert ends, title
        low, high = (float(end.replace("−", "-")) for end in ends.groups())
        assert ("var(--grid)" in style) == (low <= 0 <= high), title
        assert not (MORE in style and low < 0), title


def test_tables_have_the_figures_of_the_frames(run: Path) -> None:
    tables = page_of(run).tables
    heads, *rows = tables["call_paths"]
    assert heads == ["call path", "hybrid ms", "slow ms"]
    assert "client › wire:client→edge › proxy:edge" in [row[0] for row in rows]
    paths = [row[0] for row in tables["call_path_differences_hybrid_slow"][1:]]
    assert "client › wire:→order › work:order" in paths
    assert (run / "csv" / "call_paths.csv").is_file()


@pytest.mark.parametrize("kept", ["nothing", "a block"])
def test_a_run_without_all_call_paths_says_so(run: Path, kept: str) -> None:
    files = read_run(run)
    paths = files.paths.clear() if kept == "nothing" else files.paths.filter(pl.col("block") == 1)
    view = View(read_document(run / SUMMARY), replace(files, paths=paths), kind_of(files))
    assert flame_elements(view) == [Text("This run kept no call paths, so it has no flame graphs.")]
    assert difference_flame(view, "hybrid", "slow") == []
