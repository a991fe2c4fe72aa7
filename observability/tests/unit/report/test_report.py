"""The report of made-up runs: what it says, in which order, and that its three forms say the same."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hops.__main__ import app
from hops.commands.report import make_report
from hops.elements.numbers import NOTHING, plain
from hops.kinds.compare.terminal import compare
from hops.kinds.ladder.synthetic import synthetic_arms
from hops.kinds.ladder.terminal import ladder_view
from hops.run.files import MANIFEST, TRIALS
from hops.synthetic.run import write_generated_run
from hops.terminal.console import terminal

SECTIONS = [
    "conclusions",
    "validity",
    "setup",
    "latency",
    "distance",
    "budgets",
    "exemplars",
    "heat",
    "boxes",
    "rate",
    "resources",
    "bytes",
    "observer",
    "manifest",
    "glossary",
]
HOSTILE = '</script><img src=x onerror="alert(1)">|*_`'


class Page(HTMLParser):
    """Collects what the tests ask about: sections, headings, tables, and whatever loads or runs something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.headings: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.loads: list[str] = []
        self.tags: list[str] = []
        self._heading = self._table = ""
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.loads += [value for name in ("src", "href", "srcset", "action") if (value := found.get(name))]
        if tag == "section":
            self.sections.append(found["id"] or "")
        if tag == "h2":
            self._heading = (found["id"] or "").removesuffix("-title")
            self.headings[self._heading] = ""
        if tag == "table":
            self._table = (found.get("id") or "").removeprefix("table-")
            self.tables[self._table] = []
        if tag == "tr" and self._table:
            self.tables[self._table].append([])
        if tag in ("td", "th") and self._table:
            self.tables[self._table][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "h2":
            self._heading = ""
        if tag in ("td", "th"):
            self._cell = False
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        if self._heading:
            self.headings[self._heading] += data
        if self._cell:
            self.tables[self._table][-1][-1] += data


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare") / "run"
    write_generated_run(folder, topologies=("hybrid", "rest", "grpc"), blocks=3, journeys_per_trial=400)
    make_report(folder)
    return folder


@pytest.fixture(scope="module")
def suspect(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suspect") / "run"
    failing = {(2, "rest"): "steal_share"}
    write_generated_run(folder, topologies=("hybrid", "rest"), blocks=3, journeys_per_trial=300, failing=failing)
    make_report(folder)
    return folder


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "run"
    write_generated_run(folder, topologies=("hybrid",), blocks=1, journeys_per_trial=300)
    make_report(folder)
    return folder


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ladder") / "run"
    arms = synthetic_arms(("no-edge", "edge", "sidecars", "mtls", "untraced"))
    # the wait is beside the sidecars, and a part that does not belong to them has it
    slowed = {"sidecars": {"work:product": 4.0}}
    write_generated_run(folder, kind="ladder", arms=arms, blocks=3, journeys_per_trial=400, delays_ms=slowed)
    make_report(folder)
    return folder


@pytest.fixture(scope="module")
def meshed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meshed") / "run"
    write_generated_run(folder, topologies=("hybrid", "grpc"), blocks=2, journeys_per_trial=300, mesh="istio")
    make_report(folder)
    return folder


@pytest.fixture
def page() -> Callable[[Path], Page]:
    return lambda folder: Page((folder / "report.html").read_text(encoding="utf-8"))


def test_a_report_that_is_made_again_keeps_the_name_of_the_run(compared: Path) -> None:
    assert json.loads((compared / "summary.json").read_text())["name"] == "made-up"


def test_the_machines_speed_stands_beside_each_of_several_trials(
    compared: Path, bench: Path, page: Callable[[Path], Page]
) -> None:
    heads, *rows = page(compared).tables["trials"]
    column = next(index for index, head in enumerate(heads) if "speed" in head)
    assert {len(row) for row in rows} == {len(heads)}
    # the made-up machine is a little faster in each block
    assert [row[column] for row in rows if row[0] == "3"] == ["100 %"] * 3
    assert not any("speed" in head for head in page(bench).tables["trials"][0])


def test_a_trial_has_the_start_lag_that_its_gate_is_held_against(suspect: Path, page: Callable[[Path], Page]) -> None:
    """Not the generator's own account of it, which is another figure."""
    trials = json.loads((suspect / TRIALS).read_text(encoding="utf-8"))["trials"]
    lags = {
        (str(trial["block"]), trial["topology"]): next(
            gate["value"] for gate in trial["gates"] if gate["name"] == "start_lag_p99_ms"
        )
        for trial in trials
    }
    heads, *rows = page(suspect).tables["trials"]
    column = next(index for index, head in enumerate(heads) if "start lag" in head)
    assert {tuple(row[:2]): row[column] for row in rows} == {key: plain(lag) for key, lag in lags.items()}
    assert len({trial["generator"]["start_lag_p99_us"] / 1e3 for trial in trials} | set(lags.values())) > 1


def test_every_figure_of_the_terminal_stands_in_the_report_too(compared: Path, suspect: Path) -> None:
    for folder in (compared, suspect):
        out = io.StringIO()
        terminal(out, width=400).print(compare(json.loads((folder / "summary.json").read_text(encoding="utf-8"))))
        figures = set(re.findall(r"[−+]?\d[\d.,]*\d", out.getvalue()))
        assert len(figures) > 200
        text = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")
        assert {figure for figure in figures if figure not in text} == set()


def test_every_figure_of_a_ladder_stands_in_its_report_too(climbed: Path) -> None:
    out = io.StringIO()
    terminal(out, width=400).print(ladder_view(json.loads((climbed / "summary.json").read_text(encoding="utf-8"))))
    figures = set(re.findall(r"[−+]?\d[\d.,]*\d", out.getvalue()))
    assert len(figures) > 60
    text = (climbed / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert {figure for figure in figures if figure not in text} == set()


def test_a_ladder_begins_with_its_steps_and_compares_nothing_else(climbed: Path, page: Callable[[Path], Page]) -> None:
    report = page(climbed)
    assert report.sections == ["ladder", *(name for name in SECTIONS[1:] if name != "distance")]
    head, *steps = report.tables["ladder"]
    assert [cell.strip() for cell in head[:3]] == ["step", "without", "with"]
    assert [step[0].strip() for step in steps] == ["edge", "sidecars", "mTLS", "tracing"]
    compared = {name for name in report.tables if name.startswith("hop_differences_")}
    assert compared == {f"hop_differences_{pair}" for pair in ("edge_no-edge", "sidecars_edge", "mtls_sidecars")}


def test_a_ladder_says_where_the_time_is_that_two_measurements_do_not_share(climbed: Path) -> None:
    text = (climbed / "report.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"^- sidecars: .*$", text, re.MULTILINE)
    assert re.search(r"They differ by \d\.\d ms", told)
    assert re.search(r"Parts that do not belong to the step changed by \d\.\d ms .*: services by", told)


def test_a_ladder_s_arms_are_drawn_and_listed_as_they_ran(climbed: Path, page: Callable[[Path], Page]) -> None:
    tables = page(climbed).tables
    callees = {(row[0].strip(), row[2].strip()) for row in tables["links"] if row[1].strip() == "web"}
    assert ("edge", "edge") in callees
    assert ("no-edge", "graphql-gateway") in callees
    facts = {row[0].strip(): row[1].strip() for row in tables["setup"]}
    assert facts["experiment"].startswith("3 blocks of 5 arms of a ladder in random order")
    assert facts["tracing"] == "20 or 0 % of the journeys, chosen at random"
    assert facts["switches of no-edge"] == "edge none, mesh none, mtls off, trace 0.2"


def test_a_share_is_a_bar_on_the_page_and_left_out_of_markdown_and_csv(compared: Path) -> None:
    page = (compared / "report.html").read_text(encoding="utf-8")
    assert re.search(r'<td class="n share"[^>]*style="--w:[\d.]+%" title="[\d.]+ % of the whole">[\d.]+<', page)
    heads = (compared / "csv" / "budget_parts_all.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "share" not in heads
    assert "% of the whole" not in (compared / "report.md").read_text(encoding="utf-8")


def test_the_sections_are_in_their_order(compared: Path, page: Callable[[Path], Page]) -> None:
    assert page(compared).sections == SECTIONS


def test_the_page_is_small_and_loads_nothing(compared: Path, page: Callable[[Path], Page]) -> None:
    assert (compared / "report.html").stat().st_size < 3_000_000
    assert all(target.startswith(("#", "data:,")) for target in page(compared).loads)
    assert page(compared).tags.count("script") == 1
    text = (compared / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|@import|url\((?!#g\d\))", text)


def test_a_valid_run_says_so_and_nowhere_that_it_is_suspect(compared: Path, page: Callable[[Path], Page]) -> None:
    text = (compared / "report.html").read_text(encoding="utf-8")
    assert 'class="badge valid">VALID<' in text
    assert not any("SUSPECT" in heading for heading in page(compared).headings.values())


def test_a_suspect_run_is_nowhere_without_the_word(suspect: Path, page: Callable[[Path], Page]) -> None:
    text = (suspect / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<title>SUSPECT: ", text)
    assert re.search(r"<h1>.*SUSPECT", text)
    assert re.search(r'@page \{ @top-center \{ content: "SUSPECT', text)
    assert len(page(suspect).headings) == len(SECTIONS)
    assert all("SUSPECT" in heading for heading in page(suspect).headings.values())
    lines = (suspect / "report.md").read_text(encoding="utf-8").splitlines()
    assert all("SUSPECT" in line for line in lines if line.startswith(("# ", "## ")))


def test_a_suspect_trial_is_named_with_its_reason(suspect: Path, page: Callable[[Path], Page]) -> None:
    (row,) = [row for row in page(suspect).tables["trials"] if "SUSPECT" in row]
    assert row[:2] == ["2", "rest"]
    assert "CPU steal" in row


def test_one_block_shows_figures_without_comparing(bench: Path, page: Callable[[Path], Page]) -> None:
    text = (bench / "report.html").read_text(encoding="utf-8")
    assert "One block: no intervals over blocks, no comparison." in text
    assert page(bench).sections == SECTIONS
    assert "comparisons" not in page(bench).tables
    assert len(page(bench).tables["latency"]) > 5


def test_names_of_the_run_are_text_and_nothing_else(tmp_path: Path, page: Callable[[Path], Page]) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["workload"] = manifest["machine"]["cpu"] = manifest["topologies"]["hybrid"]["about"] = HOSTILE
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    make_report(folder)
    found = page(folder)
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert dict(found.tables["setup"])["workload"] == HOSTILE
    assert r"\<img" in (folder / "report.md").read_text(encoding="utf-8")


def test_page_markdown_and_csv_have_the_same_figures(compared: Path, page: Callable[[Path], Page]) -> None:
    tables = page(compared).tables
    text = (compared / "report.md").read_text(encoding="utf-8")
    for key in ("latency", "fastest", "cost", "comparisons", "hop_differences_hybrid_rest"):
        with (compared / "csv" / f"{key}.csv").open(encoding="utf-8", newline="") as file:
            written = list(csv.reader(file))
        assert len(written) == len(tables[key])
    with (compared / "csv" / "latency.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    summary = json.loads((compared / "summary.json").read_text(encoding="utf-8"))
    for row, shown in zip(rows, tables["latency"][1:], strict=True):
        cell = summary["topologies"][row["topology"]]["journeys"][row["journey"]]
        assert float(row["p50_ms"]) == cell["latency_ms"]["p50"]
        assert [row["p50_ms_low"], row["p50_ms_high"]] == ["" if end is None else str(end) for end in _ends(cell)]
        figure, _, interval = shown[4].partition(" ")
        figure = figure.replace("\\", "")
        assert f"{figure} ({interval})" in text if interval else figure in text


def test_a_mesh_has_its_groups_its_sidecars_and_a_line_below_the_title(
    meshed: Path, page: Callable[[Path], Page]
) -> None:
    found = page(meshed)
    groups = [head.removesuffix(" ms") for head in found.tables["budget_groups"][0]]
    assert groups.index("internal calls") < groups.index("sidecars") < groups.index("services")
    assert "mesh: Istio, mTLS on" in (meshed / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert dict(found.tables["setup"])["switches"].startswith("edge envoy, mesh istio, mtls on")
    _, *rows = found.tables["sidecars"]
    assert [row[1] for row in rows if row[0] == "grpc"] == ["edge", "order", "payment", "product", "user"]
    assert rows[0][2:4] == [NOTHING] * 2  # nothing comes in by the edge's
    assert {row[1] for row in found.tables["cpu"][1:]} >= {"sidecars", "control plane"}


def test_without_a_mesh_there_is_nothing_of_one(compared: Path, page: Callable[[Path], Page]) -> None:
    found = page(compared)
    assert "sidecars" not in found.tables
    assert not any("sidecars" in head for head in found.tables["budget_groups"][0])
    assert "mesh:" not in (compared / "report.md").read_text(encoding="utf-8").partition("## ")[0]


def test_replicas_are_below_the_title_in_the_drawing_and_beside_what_they_use(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["switches"]["replicas"] = {"graphql-gateway": 2, "product": 3}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    make_report(folder)
    text = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")
    told = "2 of graphql-gateway, 3 of product"
    assert f"replicas: {told}" in text
    assert f"A component's figures are those of all its replicas together ({told})." in text
    drawn = (folder / "report.html").read_text(encoding="utf-8")
    assert ">graphql-gateway ×2</text>" in drawn
    assert ">product ×3</text>" in drawn
    assert ">order</text>" in drawn


def test_a_cluster_s_report_says_who_counted_the_resources_and_how_exactly(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    document = json.loads((folder / TRIALS).read_text(encoding="utf-8"))
    document["trials"][0]["resources_from"] = {"source": "metrics API", "resolution_s": 15.1}
    (folder / TRIALS).write_text(json.dumps(document), encoding="utf-8")
    make_report(folder)
    text = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert "(source: metrics API). A figure of CPU time is a mean over up to 15 s." in text
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["resources_from"] == {"source": "metrics API", "resolution_s": 15.1}


def test_the_network_stands_below_the_title_and_beside_the_load(tmp_path: Path, page: Callable[[Path], Page]) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("grpc", "rest"), blocks=1, journeys_per_trial=60)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    far = manifest["switches"] | {"network": "4g", "rtt_ms": None, "bandwidth": "", "visit": "first"}
    told = "4g (70 ms, 12/12 Mbit/s), connections opened by each journey"
    for arms, network in (
        ({"grpc": far, "rest": far}, told),
        ({"grpc": far, "rest": manifest["switches"]}, f"grpc: {told}; rest: none"),
    ):
        (folder / MANIFEST).write_text(json.dumps(manifest | {"arms": arms}), encoding="utf-8")
        make_report(folder)
        assert f"network: {network}" in (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")
        facts = {row[0].strip(): row[1].strip() for row in page(folder).tables["setup"]}
        assert facts["network"] == network
        assert "network" not in facts["switches"]
        assert "switches of grpc" not in facts


def test_with_http_3_the_report_says_who_speaks_it_and_where_sending_counts(tmp_path: Path, compared: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("grpc", "rest"), blocks=1, journeys_per_trial=60)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["arms"] = {"grpc": manifest["switches"] | {"http": 2}, "rest": manifest["switches"] | {"http": 3}}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    make_report(folder)
    text = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert "clients speak: grpc: HTTP/2; rest: HTTP/3 (gRPC stays on 2)" in text
    sending = "Over HTTP/3, proxy:edge has the time to encrypt and send the answer"
    assert sending in text
    without = (compared / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert sending not in without
    assert "clients speak:" not in without


def test_topologies_with_different_meshes_are_told_apart(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("grpc", "rest"), blocks=1, journeys_per_trial=60)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["arms"] = {"grpc": manifest["switches"], "rest": manifest["switches"] | {"mesh": "envoy"}}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    make_report(folder)
    text = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert "mesh: grpc: none; rest: Envoy with static configuration, mTLS off" in text


def test_a_deep_trace_is_drawn_in_the_order_of_its_path(meshed: Path) -> None:
    html = (meshed / "report.html").read_text(encoding="utf-8")
    waterfall = html.partition('<table class="waterfall"')[2].partition("</table>")[0]
    rows = re.findall(r'style="--d:(\d+)"[^>]*><b>([^<]+)</b>', waterfall)
    assert [name for _, name in rows][2:10] == [
        "client",
        "edge",
        "edge",
        "edge-outbound",
        "edge-outbound",
        "graphql-gateway-inbound",
        "graphql-gateway-inbound",
        "graphql-gateway",
    ]
    deepest = max(int(depth) for depth, _ in rows)
    assert deepest > 12
    step = re.search(r"--step:([\d.]+)rem", waterfall)
    assert step is not None
    assert deepest * float(step[1]) < 6.1


def test_the_terminal_has_the_mesh_too(meshed: Path) -> None:
    out = io.StringIO()
    terminal(out, width=400).print(compare(json.loads((meshed / "summary.json").read_text(encoding="utf-8"))))
    assert out.getvalue().startswith("Mesh: Istio, mTLS on.")
    assert out.getvalue().count("a journey crosses sidecars") == 2


def test_every_table_of_the_page_has_its_csv_file(compared: Path, page: Callable[[Path], Page]) -> None:
    keys = {key for key in page(compared).tables if key}
    assert {path.stem for path in (compared / "csv").glob("*.csv")} == keys


def test_a_folder_that_is_not_whole_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_generated_run(tmp_path / "run", topologies=("hybrid",), blocks=1, journeys_per_trial=60)
    (folder / "hops.parquet").unlink()
    found = CliRunner().invoke(app, ["report", str(folder)])
    assert found.exit_code == 1
    assert "hops.parquet: the file is missing" in found.stderr
    assert not (folder / "report.html").exists()


def test_the_same_files_give_the_same_report(compared: Path) -> None:
    def without_time() -> str:
        text = (compared / "report.html").read_text(encoding="utf-8")
        return re.sub(r"Made by Hopwise on .* from", "", text)

    before = without_time(), (compared / "report.md").read_text(encoding="utf-8")
    make_report(compared)
    assert (without_time(), (compared / "report.md").read_text(encoding="utf-8")) == before


def _ends(cell: dict[str, dict[str, list[float | None]]]) -> list[float | None]:
    return cell["latency_ci95"]["p50"]
