"""The report of made-up runs: what it says, in which order, and that its three forms say the same."""

from __future__ import annotations

import copy
import csv
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from hops.__main__ import app
from hops.elements.element import Figures
from hops.elements.numbers import NOTHING, plain
from hops.elements.table import Table
from hops.kinds import analyse, kind_of
from hops.report import write_report
from hops.report.contents import all_sections
from hops.report.csv_files import csv_text, tables_of
from hops.report.facts import load_facts
from hops.report.sections import budget, resource, setup
from hops.report.view import View
from hops.report.write import facts
from hops.run.documents.trial import TrialRecord
from hops.run.files import SUMMARY, TRIALS, read_document, read_run
from hops.terminal.comparison import compare
from synthetic.run import write_generated_run

from .pages import SECTIONS, check_terminal, csv_rows, markdown_of, page_of, print_view

_KEY = re.compile(r'<ul class="key".*?</ul>', re.DOTALL)
_FILLS = re.compile(r'class="fill (g\d+)"')
HOSTILE = '</script><img src=x onerror="alert(1)">|*_`'


@pytest.fixture(scope="module")
def compared(reported: Callable[[str], Path]) -> Path:
    return reported("comparison")


@pytest.fixture(scope="module")
def noisy(reported: Callable[[str], Path]) -> Path:
    return reported("noisy")


@pytest.fixture(scope="module")
def bench(reported: Callable[[str], Path]) -> Path:
    return reported("bench")


@pytest.fixture(scope="module")
def meshed(reported: Callable[[str], Path]) -> Path:
    return reported("meshed")


def view_of(folder: Path, arms: Mapping[str, dict[str, Any]] | None = None, **changes: Any) -> View:
    """Returns the view of a run, with some switches of its topologies and some fields of its summary changed."""
    run = read_run(folder)
    if arms is not None:
        switches = {name: run.manifest["switches"] | arms.get(name, {}) for name in run.topologies}
        run = replace(run, manifest=run.manifest | {"arms": switches})
    return View(read_document(folder / SUMMARY) | changes, run, kind_of(run))


def tables_in(folder: Path, **changes: Any) -> dict[str, list[Table]]:
    """Returns the tables of each section of a report, with some fields of the summary changed."""
    view = view_of(folder, **changes)
    return {section.key: list(tables_of(section.elements)) for section in all_sections(view)}


def test_a_report_that_is_made_again_keeps_the_name_of_the_run(compared: Path) -> None:
    assert json.loads((compared / "summary.json").read_text())["name"] == "made-up"


def test_the_machines_speed_is_next_to_each_of_several_trials(compared: Path, bench: Path) -> None:
    heads, *rows = page_of(compared).tables["trials"]
    column = next(index for index, head in enumerate(heads) if "speed" in head)
    assert {len(row) for row in rows} == {len(heads)}
    # the made-up machine is a little faster in each block
    assert [row[column] for row in rows if row[0] == "3"] == ["100 %"] * 4
    assert not any("speed" in head for head in page_of(bench).tables["trials"][0])


def test_a_trial_has_the_start_lag_that_its_gate_checks(noisy: Path) -> None:
    """The page does not show the start lag that the generator itself reports, which is a different figure."""
    trials = json.loads((noisy / TRIALS).read_text(encoding="utf-8"))["trials"]
    lags = {}
    for trial in trials:
        values = {gate["name"]: gate["value"] for gate in trial["gates"]}
        lags[str(trial["block"]), trial["topology"]] = values["start_lag_p99_ms"]
    heads, *rows = page_of(noisy).tables["trials"]
    column = next(index for index, head in enumerate(heads) if "start lag" in head)
    assert {tuple(row[:2]): row[column] for row in rows} == {key: plain(lag) for key, lag in lags.items()}
    assert len({trial["generator"]["start_lag_p99_us"] / 1e3 for trial in trials} | set(lags.values())) > 1


def test_every_figure_of_the_terminal_is_in_the_report_too(compared: Path, noisy: Path) -> None:
    for folder in (compared, noisy):
        check_terminal(folder, least=200)


def test_a_share_is_a_bar_on_the_page_and_left_out_of_markdown_and_csv(compared: Path) -> None:
    page = (compared / "report.html").read_text(encoding="utf-8")
    assert re.search(r'<td class="n share"[^>]*style="--w:[\d.]+%" title="[\d.]+ % of the whole">[\d.]+<', page)
    heads = (compared / "csv" / "budget_parts_all.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "share" not in heads
    assert "% of the whole" not in (compared / "report.md").read_text(encoding="utf-8")


def test_the_sections_are_in_their_order(compared: Path) -> None:
    assert page_of(compared).sections == SECTIONS


def test_each_gate_gives_its_reason(compared: Path) -> None:
    head, *rows = page_of(compared).tables["gates"]
    assert head[-1] == "because"
    assert all(row[-1] for row in rows)


def test_a_valid_run_says_so_and_no_other_verdict(compared: Path) -> None:
    text = (compared / "report.html").read_text(encoding="utf-8")
    assert 'class="badge valid">VALID<' in text
    assert not any("NOISY" in heading for heading in page_of(compared).headings.values())


def test_a_noisy_run_says_so_where_a_reader_looks(noisy: Path) -> None:
    text = (noisy / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<title>NOISY: ", text)
    assert re.search(r"<h1>.*NOISY", text)
    assert re.search(r'@page \{ @top-center \{ content: "NOISY', text)
    assert re.search(r'class="verdict-line"><span class="badge noisy">NOISY', text)
    assert len(page_of(noisy).headings) == len(SECTIONS)
    head, *sections = (noisy / "report.md").read_text(encoding="utf-8").split("\n## ")
    assert head.startswith("# NOISY: ")
    assert "\nNOISY: CPU steal. 1 of 6 trials fails a gate" in head
    said = {section.partition("\n")[0]: section.count("NOISY") for section in sections}
    # once where the reader begins, in the caption of each table of figures, and where the gates are
    assert all(said[title] for title in ("What this run says", "Latency of each journey", "Can it be trusted?"))
    assert len(re.findall("<li>NOISY", text)) == 2  # the first conclusion, and the trial


def test_every_table_of_figures_of_a_noisy_run_says_so(noisy: Path) -> None:
    without = ("validity", "setup", "manifest", "glossary")
    captions = [one.caption for key, tables in tables_in(noisy).items() if key not in without for one in tables]
    assert len(captions) > 20
    assert [caption for caption in captions if not caption.startswith("NOISY: ") or caption.count("NOISY") > 1] == []


def test_a_noisy_trial_is_named_with_its_reason(noisy: Path) -> None:
    (row,) = [row for row in page_of(noisy).tables["trials"] if "NOISY" in row]
    assert row[:2] == ["2", "rest"]
    assert "CPU steal" in row


def test_one_block_shows_figures_without_comparing(bench: Path) -> None:
    text = page_of(bench).text
    assert text.count("within the one block") == 1
    assert "One block" not in text
    assert not re.search("two topologies differ|Rings: |shown to be the fastest", text.partition("Words")[0])
    # There is nothing to compare a journey with, and too few journeys have met another journey.
    assert set(SECTIONS) - set(page_of(bench).sections) == {"meetings"}
    assert "comparisons" not in page_of(bench).tables
    assert len(page_of(bench).tables["latency"]) > 5


def test_names_of_the_run_are_text_and_nothing_else(bench: Path, tmp_path: Path) -> None:
    view = view_of(bench)
    manifest = copy.deepcopy(view.run.manifest)
    manifest["workload"] = manifest["machine"]["cpu"] = manifest["topologies"]["hybrid"]["about"] = HOSTILE
    write_report(replace(view.run, manifest=manifest), view.summary, tmp_path, view.kind)
    found = page_of(tmp_path)
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert dict(found.tables["setup"])["workload"] == HOSTILE
    assert r"\<img" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_page_markdown_and_csv_have_the_same_figures(compared: Path) -> None:
    tables = page_of(compared).tables
    text = (compared / "report.md").read_text(encoding="utf-8")
    for key in ("latency", "fastest", "cost", "comparisons", "hop_differences_hybrid_rest"):
        with (compared / "csv" / f"{key}.csv").open(encoding="utf-8", newline="") as file:
            written = list(csv.reader(file))
        assert len(written) == len(tables[key])
    rows = csv_rows(compared, "latency")
    summary = json.loads((compared / "summary.json").read_text(encoding="utf-8"))
    for row, shown in zip(rows, tables["latency"][1:], strict=True):
        cell = summary["topologies"][row["topology"]]["journeys"][row["journey"]]
        assert float(row["p50_ms"]) == cell["latency_ms"]["p50"]
        ends = ["" if end is None else str(end) for end in cell["latency_ci95"]["p50"]]
        assert [row["p50_ms_low"], row["p50_ms_high"]] == ends
        figure, _, interval = shown[4].partition(" ")
        figure = figure.replace("\\", "")
        assert f"{figure} ({interval})" in text if interval else figure in text


def test_a_mesh_has_its_groups_its_sidecars_and_a_line_below_the_title(meshed: Path) -> None:
    found = page_of(meshed)
    groups = [head.removesuffix(" ms") for head in found.tables["budget_groups"][0]]
    assert groups.index("internal calls") < groups.index("sidecars") < groups.index("services")
    assert "mesh: Istio, mTLS on" in markdown_of(meshed)
    assert dict(found.tables["setup"])["switches"].startswith("edge envoy, mesh istio, mtls on")
    _, *rows = found.tables["sidecars"]
    assert [row[1] for row in rows if row[0] == "grpc"] == ["edge", "order", "payment", "product", "user"]
    assert rows[0][2:4] == [NOTHING] * 2  # the edge's sidecar has no inbound calls
    assert {row[1] for row in found.tables["cpu"][1:]} >= {"sidecars", "control plane"}


def test_without_a_mesh_there_is_no_sign_of_one(compared: Path) -> None:
    found = page_of(compared)
    assert "sidecars" not in found.tables
    assert not any("sidecars" in head for head in found.tables["budget_groups"][0])
    assert "mesh:" not in (compared / "report.md").read_text(encoding="utf-8").partition("## ")[0]


FAR = {"network": "4g", "rtt_ms": None, "bandwidth": "", "visit": "first"}
OF_4G = "4g (70 ms, 12/12 Mbit/s), connections opened by each journey"


@pytest.mark.parametrize(
    ("arms", "fact", "text"),
    [
        ({"hybrid": FAR, "rest": FAR}, "network", OF_4G),
        ({"hybrid": FAR}, "network", f"hybrid: {OF_4G}; rest: none"),
        ({"hybrid": {"http": 2}, "rest": {"http": 3}}, "clients speak",
         "hybrid: HTTP/2; rest: HTTP/3 (gRPC stays on 2)"),
        ({"rest": {"mesh": "envoy"}}, "mesh", "hybrid: none; rest: Envoy with static configuration, mTLS off"),
        ({"hybrid": {"replicas": {"product": 3}}}, "replicas", "hybrid: 3 of product; rest: none"),
    ],
)  # fmt: skip
def test_what_is_special_about_topologies_is_below_the_title(
    noisy: Path, arms: dict[str, Any], fact: str, text: str
) -> None:
    assert dict(facts(view_of(noisy, arms)))[fact] == text
    assert fact not in dict(facts(view_of(noisy)))


@pytest.mark.parametrize("arms", [{"hybrid": FAR, "rest": FAR}, {"hybrid": FAR}])
def test_a_network_is_a_fact_about_the_load_and_no_switch(noisy: Path, arms: dict[str, Any]) -> None:
    view = view_of(noisy, arms)
    loads = dict(load_facts(view))
    assert loads["network"] == dict(facts(view))["network"]
    assert "network" not in loads["switches"]
    assert "switches of hybrid" not in loads


def test_replicas_are_in_the_drawing_and_with_their_resources(bench: Path) -> None:
    view = view_of(bench, {"hybrid": {"replicas": {"graphql-gateway": 2, "product": 3}}})
    replicas = "2 of graphql-gateway, 3 of product"
    said = f"A component's figures are those of all its replicas together ({replicas})."
    assert said in str(resource.section(view).elements[0])
    (drawn,) = [one for one in setup.section(view.run.manifest, []).elements if isinstance(one, Figures)]
    for label in ("graphql-gateway ×2", "product ×3", "order"):
        assert f">{label}</text>" in drawn.charts[0].svg


def test_a_cluster_s_report_says_who_counted_the_resources_and_how_exactly(bench: Path) -> None:
    origin = {"source": "metrics API", "resolution_s": 15.1}
    view = view_of(bench)
    run = replace(view.run, trials=[cast("TrialRecord", {**view.run.trials[0], "resources_from": origin})])
    summary = analyse(run, name="night")
    assert summary["resources_from"] == origin
    text = str(resource.section(replace(view, summary=summary)).elements[-1])
    assert "(source: metrics API). A figure of CPU time is a mean over up to 15 s." in text


def test_with_http_3_the_report_says_where_sending_counts(noisy: Path) -> None:
    for http, said in ((2, False), (3, True)):
        text, *_ = budget.section(view_of(noisy, {"rest": {"http": http}})).elements
        assert ("Over HTTP/3, proxy:edge has the time to encrypt and send the answer" in str(text)) is said


def test_a_deep_trace_is_drawn_in_the_order_of_its_path(meshed: Path) -> None:
    html = (meshed / "report.html").read_text(encoding="utf-8")
    waterfall = html.partition('<table class="waterfall"')[2].partition("</table>")[0]
    rows = re.findall(r'style="--d:(\d+)"[^>]*><b>([^<]+)</b>', waterfall)
    assert [name for _, name in rows][2:10] == [
        "client", "edge", "edge", "edge-outbound", "edge-outbound", "graphql-gateway-inbound",
        "graphql-gateway-inbound", "graphql-gateway",
    ]  # fmt: skip
    deepest = max(int(depth) for depth, _ in rows)
    assert deepest > 12
    step = re.search(r"--step:([\d.]+)rem", waterfall)
    assert deepest * float(step[1]) < 6.1


def test_the_terminal_has_the_mesh_too(meshed: Path) -> None:
    shown = print_view(compare(json.loads((meshed / "summary.json").read_text(encoding="utf-8"))))
    assert shown.startswith("Mesh: Istio, mTLS on.")
    assert shown.count("a journey crosses sidecars") == 2


def test_every_table_of_the_page_has_its_csv_file(compared: Path) -> None:
    keys = {key for key in page_of(compared).tables if key}
    assert {path.stem for path in (compared / "csv").glob("*.csv")} == keys


def test_no_column_of_csv_loses_a_letter(compared: Path) -> None:
    columns = [column for tables in tables_in(compared).values() for table in tables for column in table.columns]
    assert len(columns) > 200
    for column in columns:
        written = f"{column.name} {column.unit}".replace("%", "percent")
        assert sum(map(str.isalnum, column.key)) == sum(map(str.isalnum, written)), column


def test_charts_name_the_tail_as_the_tables_do(compared: Path, bench: Path) -> None:
    """With few traces, the band above p99 is the single slowest trace."""
    named = set()
    for folder in (compared, bench):
        text = (folder / "report.html").read_text(encoding="utf-8")
        rows = [[cell.strip() for cell in row] for row in page_of(folder).tables["budget_groups"][1:]]
        for journey in {row[0] for row in rows}:
            tails = {row[2] for row in rows if row[0] == journey} - {"mean of all traces", "around the median"}
            assert f"Hop budgets of {journey}, {' or '.join(sorted(tails))}: " in text
            named |= tails
    assert named == {"above p99", "slowest trace"}


def test_the_seconds_of_trials_are_those_of_what_is_compared(compared: Path) -> None:
    for noun in ("topology", "target"):
        (seconds,) = [one for one in tables_in(compared, compared=noun)["validity"] if one.key == "seconds"]
        assert csv_text(seconds).startswith(f"{noun},start_s,")


def test_a_folder_that_is_not_whole_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    (folder / "hops.parquet").unlink()
    found = CliRunner().invoke(app, ["report", str(folder)])
    assert found.exit_code == 1
    assert "hops.parquet: the file is missing" in found.stderr
    assert not (folder / "report.html").exists()


def test_a_report_is_not_written_through_symbolic_links(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    outside = tmp_path / "outside"
    outside.mkdir()
    own = ["summary.json", "report.html", "report.md"]
    for name in own:
        (outside / name).write_text("mine", encoding="utf-8")
        (folder / name).symlink_to(outside / name)
        (folder / f".{name}.{os.getpid()}.partial").symlink_to(outside / name)
    (folder / "csv").symlink_to(outside)
    refused = CliRunner().invoke(app, ["report", str(folder)])
    assert refused.exit_code == 1
    assert f"reports are not written through symbolic links; remove this link: '{folder / 'csv'}'" in refused.stderr
    (folder / "csv").unlink()
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert not any((folder / name).is_symlink() for name in own)
    assert sorted(path.name for path in outside.iterdir()) == sorted(own)
    assert {(outside / name).read_text(encoding="utf-8") for name in own} == {"mine"}


def test_a_legend_has_what_is_drawn_and_no_more(bench: Path) -> None:
    text = (bench / "report.html").read_text(encoding="utf-8")
    _, _, resources = text.partition('<section id="resources"')
    of_cost, over_time = _KEY.findall(resources)[:2]
    assert "generator" not in of_cost
    assert "generator" in over_time
    traces = text.partition('<section id="exemplars"')[2].partition("</section>")[0]
    assert set(_FILLS.findall(_KEY.findall(traces)[0])) == set(re.findall(r'class="bars (g\d+)"', traces))


def test_the_verdict_line_is_a_sentence(reported: Callable[[str], Path]) -> None:
    text = page_of(reported("wrong bench")).text
    assert "WRONG Answers that differ from the reference. 1 of 1 trial fails a gate" in text


def test_a_percent_sign_stays_with_its_figure(compared: Path) -> None:
    text = (compared / "report.html").read_text(encoding="utf-8")
    text = re.sub(r'<(svg|style).*?</\1>| title="[^"]*"', "", text, flags=re.DOTALL)
    assert re.search(r"\d\N{NO-BREAK SPACE}%", text)
    assert not re.search(r"\d %", text)
