"""The report of made-up runs: what it says, in which order, and that its three forms say the same."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hops.__main__ import app
from hops.elements.numbers import NOTHING, plain
from hops.elements.table import Table
from hops.kinds import kind_of, make_report
from hops.report.contents import all_sections
from hops.report.csv_files import csv_text, tables_of
from hops.report.view import View
from hops.run.files import MANIFEST, TRIALS, read_run
from hops.terminal.comparison import compare
from synthetic.run import write_generated_run

from .pages import (
    SECTIONS,
    check_terminal,
    compared_run,
    csv_rows,
    edited,
    markdown_of,
    page_of,
    print_view,
    reported_run,
)

_KEY = re.compile(r'<ul class="key".*?</ul>', re.DOTALL)
_FILLS = re.compile(r'class="fill (g\d+)"')
HOSTILE = '</script><img src=x onerror="alert(1)">|*_`'


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compared_run(tmp_path_factory.mktemp("compare") / "run")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("noisy") / "run"
    failing = {(2, "rest"): "steal_share"}
    return reported_run(folder, topologies=("hybrid", "rest"), blocks=3, journeys_per_trial=300, failing=failing)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "run"
    return reported_run(folder, topologies=("hybrid",), blocks=1, journeys_per_trial=300)


@pytest.fixture(scope="module")
def meshed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meshed") / "run"
    return reported_run(folder, topologies=("hybrid", "grpc"), blocks=2, journeys_per_trial=300, mesh="istio")


def tables_in(folder: Path, **changes: Any) -> dict[str, list[Table]]:
    """Returns the tables of each section of a report, with some fields of the summary changed."""
    run = read_run(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8")) | changes
    view = View(summary, run, kind_of(run))
    return {section.key: list(tables_of(section.elements)) for section in all_sections(view)}


def test_a_report_that_is_made_again_keeps_the_name_of_the_run(compared: Path) -> None:
    assert json.loads((compared / "summary.json").read_text())["name"] == "made-up"


def test_the_machines_speed_is_next_to_each_of_several_trials(compared: Path, bench: Path) -> None:
    heads, *rows = page_of(compared).tables["trials"]
    column = next(index for index, head in enumerate(heads) if "speed" in head)
    assert {len(row) for row in rows} == {len(heads)}
    # the made-up machine is a little faster in each block
    assert [row[column] for row in rows if row[0] == "3"] == ["100 %"] * 3
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


def test_names_of_the_run_are_text_and_nothing_else(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    with edited(folder / MANIFEST) as manifest:
        manifest["workload"] = manifest["machine"]["cpu"] = manifest["topologies"]["hybrid"]["about"] = HOSTILE
    make_report(folder)
    found = page_of(folder)
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert dict(found.tables["setup"])["workload"] == HOSTILE
    assert r"\<img" in (folder / "report.md").read_text(encoding="utf-8")


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


def test_replicas_are_below_the_title_in_the_drawing_and_with_their_resources(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    with edited(folder / MANIFEST) as manifest:
        manifest["switches"]["replicas"] = {"graphql-gateway": 2, "product": 3}
    make_report(folder)
    text = markdown_of(folder)
    replicas = "2 of graphql-gateway, 3 of product"
    assert f"replicas: {replicas}" in text
    assert f"A component's figures are those of all its replicas together ({replicas})." in text
    drawn = (folder / "report.html").read_text(encoding="utf-8")
    assert ">graphql-gateway ×2</text>" in drawn
    assert ">product ×3</text>" in drawn
    assert ">order</text>" in drawn


def test_a_cluster_s_report_says_who_counted_the_resources_and_how_exactly(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    with edited(folder / TRIALS) as document:
        document["trials"][0]["resources_from"] = {"source": "metrics API", "resolution_s": 15.1}
    make_report(folder)
    text = markdown_of(folder)
    assert "(source: metrics API). A figure of CPU time is a mean over up to 15 s." in text
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["resources_from"] == {"source": "metrics API", "resolution_s": 15.1}


def test_the_network_is_below_the_title_and_with_the_load(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("grpc", "rest"), blocks=1, journeys_per_trial=60)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    far = manifest["switches"] | {"network": "4g", "rtt_ms": None, "bandwidth": "", "visit": "first"}
    of_4g = "4g (70 ms, 12/12 Mbit/s), connections opened by each journey"
    for arms, network in (
        ({"grpc": far, "rest": far}, of_4g),
        ({"grpc": far, "rest": manifest["switches"]}, f"grpc: {of_4g}; rest: none"),
    ):
        (folder / MANIFEST).write_text(json.dumps(manifest | {"arms": arms}), encoding="utf-8")
        make_report(folder)
        assert f"network: {network}" in markdown_of(folder)
        facts = {row[0].strip(): row[1].strip() for row in page_of(folder).tables["setup"]}
        assert facts["network"] == network
        assert "network" not in facts["switches"]
        assert "switches of grpc" not in facts


def test_with_http_3_the_report_says_who_speaks_it_and_where_sending_counts(tmp_path: Path, compared: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("grpc", "rest"), blocks=1, journeys_per_trial=60)
    with edited(folder / MANIFEST) as manifest:
        manifest["arms"] = {"grpc": manifest["switches"] | {"http": 2}, "rest": manifest["switches"] | {"http": 3}}
    make_report(folder)
    text = markdown_of(folder)
    assert "clients speak: grpc: HTTP/2; rest: HTTP/3 (gRPC stays on 2)" in text
    sending = "Over HTTP/3, proxy:edge has the time to encrypt and send the answer"
    assert sending in text
    without = markdown_of(compared)
    assert sending not in without
    assert "clients speak:" not in without


def test_topologies_with_different_meshes_are_listed_separately(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("grpc", "rest"), blocks=1, journeys_per_trial=60)
    with edited(folder / MANIFEST) as manifest:
        manifest["arms"] = {"grpc": manifest["switches"], "rest": manifest["switches"] | {"mesh": "envoy"}}
    make_report(folder)
    text = markdown_of(folder)
    assert "mesh: grpc: none; rest: Envoy with static configuration, mTLS off" in text


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


def test_the_verdict_line_is_a_sentence(tmp_path: Path) -> None:
    failing = {(1, "rest"): "parity"}
    folder = reported_run(tmp_path, topologies=("rest",), blocks=1, journeys_per_trial=60, failing=failing)
    assert "WRONG Answers that differ from the reference. 1 of 1 trial fails a gate" in page_of(folder).text


def test_a_percent_sign_stays_with_its_figure(compared: Path) -> None:
    text = (compared / "report.html").read_text(encoding="utf-8")
    text = re.sub(r'<(svg|style).*?</\1>| title="[^"]*"', "", text, flags=re.DOTALL)
    assert re.search(r"\d\N{NO-BREAK SPACE}%", text)
    assert not re.search(r"\d %", text)
