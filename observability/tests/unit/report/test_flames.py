"""Flame graphs: drawn from the kept call paths, with the interval of each difference."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from hops.kinds import make_report
from hops.report.sections.flames import LESS, MORE
from synthetic.run import write_generated_run

from .pages import Page, page_of

DRAWN = True
DELAYS = {"slow": {"work:product": 5.0}}
NOT_KEPT = "This run kept no call paths"


def write_run(folder: Path) -> Path:
    names = ("hybrid", "slow")
    return write_generated_run(folder, topologies=names, blocks=3, journeys_per_trial=400, delays_ms=DELAYS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("flames") / "run")
    make_report(folder)
    return folder


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
def test_a_run_without_all_call_paths_says_so(tmp_path: Path, kept: str) -> None:
    folder = write_run(tmp_path / "run")
    file = folder / "paths.parquet"
    if kept == "nothing":
        file.unlink()
    else:
        pl.read_parquet(file).filter(pl.col("block") == 1).write_parquet(file)
    make_report(folder)
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert NOT_KEPT in page.text
    assert not any(name.startswith("call_path") for name in page.tables)
