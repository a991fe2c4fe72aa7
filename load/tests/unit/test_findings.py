"""The page of findings says what its kept runs show, and marks as doubtful what they do not show."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import UsageError
from experiment.findings.chart import chart_file
from experiment.findings.command import changes, environment_of_runs, make_run
from experiment.findings.figures import read_figure
from experiment.findings.kept import Kept, keep, read_kept
from experiment.findings.page import (
    MARK,
    NOT_MEASURED,
    NOT_SHOWN,
    PAGE,
    README,
    all_stated,
    answer,
    draw,
    read_all,
    section,
    state,
)
from experiment.findings.table import FOLDER, Finding, Run, Table, read_table
from experiment.marked import replace_marked
from mesh.description.switches import parse_switches
from mesh.paths import ROOT
from mesh.supervisor.signals import Interrupted

DRAWN = True
AGAIN = "write it again: make findings runs=none"
FINDING = Finding.model_validate(
    {
        "title": "One is slower",
        "run": "pair",
        "says": "b takes {ratio} as long as a.",
        "figures": {"ratio": ["times", "b", "a", "all", "p50"]},
        "holds": ["ratio above 1"],
        "chart": {"title": "p50, ms", "figure": ["latency", "all", "p50"]},
        "changes": "nothing.",
    }
)
RUN = Run.model_validate({"make": "compare", "settings": {"topologies": "rest,grpc", "blocks": 12}})


def switches(**given: str) -> dict[str, Any]:
    """Makes the switches of an arm, as a manifest has them."""
    return parse_switches(**given).as_dict()


ARMS = {"rest": switches(), "grpc": switches()}
ALWAYS = {"left": "a", "right": "b", "verdict": "always", "sooner": "a"}
"""A pair of topologies, of which one answers sooner at any distance."""


def summary(verdict: str = "VALID", ratio: float = 0.5) -> dict[str, Any]:
    """Makes the summary of a comparison of a and b, in which a takes `ratio` times as long as b."""
    row = {"left": "a", "right": "b", "journey": "all", "metric": "p50", "effect": None, "verdict": "left_lower"}
    row |= {"ratio": ratio, "ratio_ci95": [0.9 * ratio, 1.1 * ratio], "difference": -4.0, "ci95": [-5.0, -3.0]}
    row |= {"left_value": 4.0, "right_value": 8.0}
    topologies = {
        name: {"journeys": {"all": {"latency_ms": {"p50": p50}, "latency_ci95": {"p50": [p50 - 1, p50 + 1]}}}}
        for name, p50 in (("a", 4.0), ("b", 8.0))
    }
    about = {"schema": 3, "name": "compare", "blocks": 12, "verdict": verdict}
    return {**about, "comparisons": [row], "hop_differences": [], "topologies": topologies}


def manifest(**more: Any) -> dict[str, Any]:
    about = {"schema": 3, "kind": "compare", "name": "compare", "blocks": 12, "workload": "default.yaml"}
    about |= {"topologies": dict.fromkeys(ARMS), "arms": ARMS, "seeds": {"tape": 1}}
    about |= {"profile": {"name": "compare", "rate": 20.0}, "git": {"commit": "0123456789ab", "dirty": False}}
    about |= {"began": "2026-11-29T01:00:00+00:00", "ended": "2026-11-29T01:20:00+00:00"}
    return {**about, "machine": {"cpu": "A processor", "cores": 2}, **more}


def results(folder: Path, verdict: str = "VALID", **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(summary(verdict)), encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest(**more)), encoding="utf-8")
    return folder


def test_page_says_what_its_kept_runs_say() -> None:
    page, table = PAGE.read_text(encoding="utf-8"), read_table()
    assert replace_marked(page, MARK, section(table, read_all(table))) == page, AGAIN


def test_readme_says_the_same() -> None:
    readme, table = README.read_text(encoding="utf-8"), read_table()
    assert replace_marked(readme, MARK, answer(table, read_all(table))) == readme, AGAIN


def test_charts_show_the_kept_runs() -> None:
    table = read_table()
    for name, finding in table.findings.items():
        drawn, file = draw(finding, read_kept(finding.run)), FOLDER / f"{name}.svg"
        assert file.is_file() == (drawn is not None), AGAIN
        if drawn is not None:
            assert file.read_text(encoding="utf-8") == chart_file(drawn), AGAIN


def test_findings_hold_in_the_kept_runs() -> None:
    table = read_table()
    doubtful = {name: one.doubt for name, one in all_stated(table, read_all(table)).items() if one.doubt}
    assert set(doubtful.values()) <= {NOT_MEASURED}


def test_ratio_is_turned_to_the_order_that_is_asked_for() -> None:
    as_stored = read_figure(summary(), "times", "a", "b", "all", "p50")
    turned = read_figure(summary(), "times", "b", "a", "all", "p50")
    assert (as_stored.value, as_stored.ends) == (0.5, [0.45, 0.55])
    assert turned.value == 2.0
    assert turned.ends == pytest.approx([1 / 0.55, 1 / 0.45])


def test_figure_that_a_run_lacks_is_named() -> None:
    with pytest.raises(UsageError, match=r"no figure \[times a c all p50\]: a and c were not compared"):
        read_figure(summary(), "times", "a", "c", "all", "p50")
    with pytest.raises(KeyError, match="speed"):
        read_figure(summary(), "speed", "a")


def test_finding_is_quoted_only_where_it_is_shown_in_a_valid_run() -> None:
    assert state(FINDING, None).doubt == NOT_MEASURED
    held = state(FINDING, Kept(summary(), manifest()))
    assert (held.doubt, held.text) == ("", "b takes 2.0 times (1.8 to 2.2) as long as a.")
    assert state(FINDING, Kept(summary(ratio=1.0), manifest())).doubt == NOT_SHOWN
    assert state(FINDING, Kept(summary("NOISY"), manifest())).doubt == "NOISY"


def test_noisier_run_does_not_show_that_there_is_no_difference() -> None:
    rules = ["ratio includes 1", "ratio above 0.87", "ratio below 1.15"]
    equal = Finding.model_validate({**FINDING.model_dump(), "holds": rules})
    assert state(equal, Kept(summary(ratio=1.0), manifest())).doubt == ""
    noisier = summary(ratio=1.0)
    noisier["comparisons"][0]["ratio_ci95"] = [0.8, 1.2]
    assert state(equal, Kept(noisier, manifest())).doubt == NOT_SHOWN


def test_page_doubts_a_row_of_answers_whose_finding_is_not_shown(tmp_path: Path) -> None:
    row = {"have": "two", "take": "a", "because": ["slower"]}
    table = Table.model_validate({"runs": {"pair": RUN}, "answers": [row], "findings": {"slower": FINDING}})
    assert "| two | **Not measured yet.** a | [1](#slower) |" in section(table, read_all(table, tmp_path))
    keep("pair", RUN, results(tmp_path / "run"), tmp_path)
    text = section(table, read_all(table, tmp_path))
    assert "| two | a | [1](#slower) |" in text
    assert "**b takes 2.0 times (1.8 to 2.2) as long as a.**" in text
    command = "`make compare topologies=rest,grpc blocks=12`"
    assert f"{command}, 2026-11-29, A processor, 2 cores, commit 01234567: VALID" in text


@pytest.mark.parametrize(
    "asked", [["times", "b", "c", "all", "p50"], ["from-rtt", "a", "b", "all"], ["latency", "a", "all", "p99"]]
)
def test_finding_and_chart_whose_run_lacks_a_figure_are_not_shown(asked: list[str]) -> None:
    lacking = summary() | {"distance": {"journeys": {"all": {"pairs": [ALWAYS]}}}}
    for row in lacking["topologies"].values():
        row["journeys"]["all"]["latency_ms"]["p99"] = None
        row["journeys"]["all"]["latency_ci95"]["p99"] = [None, None]
    chart = {"title": "p99, ms", "figure": ["latency", "all", "p99"]}
    finding = Finding.model_validate({**FINDING.model_dump(), "figures": {"ratio": asked}, "chart": chart})
    kept = Kept(lacking, manifest())
    assert state(finding, kept) == (NOT_SHOWN, "", {})
    table = Table.model_validate({"runs": {"pair": RUN}, "answers": [], "findings": {"slower": finding}})
    text = section(table, {"slower": kept})
    assert "**Not shown.**\n\n`make compare topologies=rest,grpc blocks=12`, 2026-11-29" in text


def test_same_summary_gives_the_same_file(tmp_path: Path) -> None:
    run = results(tmp_path / "run")
    keep("pair", RUN, run, tmp_path)
    first = (tmp_path / "pair" / "summary.json.gz").read_bytes()
    keep("pair", RUN, run, tmp_path)
    assert (tmp_path / "pair" / "summary.json.gz").read_bytes() == first
    assert json.loads(gzip.decompress(first)) == summary()


@pytest.mark.parametrize(
    ("verdict", "more", "said"),
    [
        ("WRONG", {}, "is WRONG, so it is not kept as pair"),
        ("NOISY", {}, "is NOISY, so it is not kept as pair"),
        ("VALID", {"kind": "bench"}, "has make=bench, but pair needs make=compare"),
        ("VALID", {"blocks": 3}, "has blocks=3, but pair needs blocks=12"),
        ("VALID", {"topologies": {"rest": {}}}, "has topologies=rest, but pair needs topologies=rest,grpc"),
        ("VALID", {"seeds": {"tape": 2}}, "has seed=2, but pair needs seed=1"),
        ("VALID", {"profile": {"name": "quick", "rate": 20.0}}, "has profile=quick, but pair needs profile=compare"),
        ("VALID", {"profile": {"name": "compare", "rate": 5.0}}, "has rate=5.0, but pair needs rate=20.0"),
        ("VALID", {"arms": {**ARMS, "grpc": switches(trace="1")}}, "grpc's trace=1.0, but pair needs grpc's trace=0.2"),
    ],
)
def test_run_that_shows_less_replaces_nothing(verdict: str, more: dict[str, Any], said: str, tmp_path: Path) -> None:
    keep("pair", RUN, results(tmp_path / "good"), tmp_path)
    with pytest.raises(UsageError, match=said):
        keep("pair", RUN, results(tmp_path / "bad", verdict, **more), tmp_path)
    kept = read_kept("pair", tmp_path)
    assert kept is not None
    assert kept.summary["verdict"] == "VALID"


def test_run_with_the_settings_of_its_arms_is_kept(tmp_path: Path) -> None:
    given = {"topologies": "rest", "blocks": 12, "edge_caches": "none,varnish", "rtt": "100ms"}
    run = Run.model_validate({"make": "compare", "settings": given})
    far = {"rtt": "100ms", "tls": "off"}  # the shared cache supports no TLS, so neither arm uses TLS
    arms = {"rest": switches(**far), "rest-edge-cache": switches(**far, edge_cache="varnish")}
    keep("cached", run, results(tmp_path / "run", arms=arms, topologies=dict.fromkeys(arms)), tmp_path)
    assert read_kept("cached", tmp_path) is not None


def test_changes_name_what_moved_and_what_holds_no_more() -> None:
    held = state(FINDING, Kept(summary(), manifest()))
    assert list(changes({"slower": held}, {"slower": held})) == ["slower: holds"]
    lost = state(FINDING, Kept(summary(ratio=1.0), manifest()))
    assert list(changes({"slower": held}, {"slower": lost})) == [
        "slower: not shown (before: held)",
        "  ratio moved: 2.0 times (1.8 to 2.2), now 1.00 times (0.91 to 1.11)",
    ]


def test_run_does_not_get_the_settings_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", " -- runs=default")
    command = ["make", "--dry-run", "compare", "blocks=12"]
    refused, accepted = (
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        for environment in (None, environment_of_runs())
    )
    assert "compare has no setting runs" in refused.stderr
    assert accepted.returncode == 0, accepted.stderr


def stand_in_make(folder: Path, does: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program named make first, which runs shell commands in the folder of results."""
    monkeypatch.setattr("experiment.findings.command.RESULTS", folder)
    (folder / "bin").mkdir()
    (folder / "bin" / "make").write_text(f"#!/bin/sh\ncd {folder}\n{does}\n", encoding="utf-8")
    (folder / "bin" / "make").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("does", "said"),
    [
        # A NOISY run in CI ends with 3, of which make makes 2.
        ("mkdir new; touch new/summary.json; ln -s new latest; exit 2", ""),
        # The clock stepped back during the run.
        ("mkdir new; touch new/summary.json; ln -s new latest; touch -d '1 hour ago' new", ""),
        ("exit 2", "ended with exit code 2 and left no results"),
    ],
)
def test_run_counts_if_it_left_results(does: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_make(tmp_path, does, monkeypatch)
    if said:
        with pytest.raises(UsageError, match=said):
            make_run(RUN, "1 of 1: pair")
    else:
        assert make_run(RUN, "1 of 1: pair") == tmp_path / "new"


def fail_on_signal(*_: object) -> None:
    raise AssertionError("the run gets no signal, and continues")


def test_sigterm_ends_the_run_that_is_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_make(tmp_path, "echo $$ > pid; kill -TERM $PPID; exec sleep 60", monkeypatch)
    before = signal.signal(signal.SIGTERM, fail_on_signal)
    try:
        with pytest.raises(Interrupted):
            make_run(RUN, "1 of 1: pair")
    finally:
        signal.signal(signal.SIGTERM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("run: pair", "run: other", "there is no run other; valid: pair"),
        ("[times, b, a, all, p50]", "[speed, b]", "there is no figure speed; valid: "),
        ("{ratio}", "{rate}", "there is no figure rate; .*valid: ratio"),
        ("because: [slower]", "because: [faster]", "there is no finding faster; .*valid: slower"),
        ("make: compare", "make: guess", "is not a target of make; valid: "),
        ("ratio above 1", "ratio includes 1", "ratio includes a value, so it also needs bounds: ratio above and ratio"),
        ("ratio above 1", "ratio includes 1, ratio above 0.9", "ratio includes a value, so it also needs bounds"),
    ],
)
def test_mistake_in_the_table_is_named_with_its_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = (
        "runs:\n  pair: {make: compare}\n"
        "answers:\n  - {have: two, take: a, because: [slower]}\n"
        "findings:\n  slower:\n    title: One is slower\n    run: pair\n    says: b takes {ratio} as long as a.\n"
        "    figures: {ratio: [times, b, a, all, p50]}\n    holds: [ratio above 1]\n"
        "    chart: {title: p50, figure: [latency, all, p50]}\n    changes: nothing.\n"
    )
    file = tmp_path / "findings.yaml"
    file.write_text(text, encoding="utf-8")
    assert read_table(file).findings["slower"].title == "One is slower"
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=rf"findings\.yaml:\d+: .*{said}"):
        read_table(file)
