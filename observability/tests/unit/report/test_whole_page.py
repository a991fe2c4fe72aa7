"""A page with its charts: small, self-contained, and the same for the same files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hops.kinds import make_report

from .pages import page_of, reported_run

DRAWN = True


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare") / "run"
    return reported_run(folder, topologies=("hybrid", "rest", "grpc"), blocks=3, journeys_per_trial=400)


def test_it_is_small_and_loads_nothing(compared: Path) -> None:
    assert (compared / "report.html").stat().st_size < 3_000_000
    assert all(target.startswith(("#", "data:,")) for target in page_of(compared).loads)
    assert page_of(compared).tags.count("script") == 1
    text = (compared / "report.html").read_text(encoding="utf-8")
    assert text.count("<svg ") > 50
    assert not re.search(r"https?://(?!www\.w3\.org/(2000/svg|1999/xlink)\")|@import|url\((?!#g\d+\))", text)


def test_the_same_files_give_the_same_report(compared: Path) -> None:
    def without_time() -> str:
        text = (compared / "report.html").read_text(encoding="utf-8")
        return re.sub(r"Made by Hopwise on .* from", "", text)

    before = without_time(), (compared / "report.md").read_text(encoding="utf-8")
    make_report(compared)
    assert (without_time(), (compared / "report.md").read_text(encoding="utf-8")) == before
