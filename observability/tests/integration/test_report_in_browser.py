"""The report in a real browser: drawn, sortable, accessible, and without overlaps."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, sync_playwright
from typer.testing import CliRunner

from hops.__main__ import app
from hops.kinds import make_report
from synthetic import of_ladder as ladder
from synthetic.formats import foreign_trace, jaeger_trace
from synthetic.of_axes import arms_at_distances
from synthetic.of_capacity import write_capacity_run
from synthetic.run import write_generated_run

DRAWN = True

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDE, PHONE = {"width": 1360, "height": 900}, {"width": 390, "height": 844}
MODES = {
    "light": {"viewport": WIDE, "color_scheme": "light"},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light"},
}
NAMED = ("compare", "bench", "noisy", "ladder", "rtt")
ALL = (*NAMED, "stress")
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
# Marks one text of each style: thousands of cells share a style, and axe takes milliseconds to check each contrast.
MARK_LOOKS = """() => {
    const grounds = new Map([[null, '']]), seen = new Set();
    for (const one of document.querySelectorAll('*')) {
        const style = getComputedStyle(one);
        const ground = [grounds.get(one.parentElement), style.backgroundColor, style.backgroundImage, style.opacity];
        grounds.set(one, ground.join());
        const own = [one.tagName, style.color, style.fill, style.fontSize, style.fontWeight, style.textShadow];
        const look = [ground, own].join();
        if (seen.has(look) || ![...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim())) continue;
        seen.add(look);
        one.dataset.look = '';
    }
    return seen.size;
}"""
CONTRAST_OF_LOOKS = "; axe.configure({rules: [{id: 'color-contrast', selector: '[data-look]'}]})"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chosen = os.environ.get("CHROMIUM_BIN") or next(filter(None, map(shutil.which, NAMES)), None)
    if chosen is None:
        pytest.skip("the report was not looked at in a browser, because there is none: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chosen, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("reports")
    write_generated_run(root / "compare", topologies=("hybrid", "rest", "hybrid-transcoded"), journeys_per_trial=500)
    write_generated_run(root / "bench", topologies=("grpc",), blocks=1, journeys_per_trial=300, mesh="istio")
    failing = {(1, "rest"): "steal_share"}
    write_generated_run(root / "noisy", topologies=("rest", "grpc"), blocks=2, journeys_per_trial=200, failing=failing)
    steps = ladder.synthetic_arms(("no-edge", "edge", "istio"))
    write_generated_run(root / "ladder", blocks=3, journeys_per_trial=300, kind="ladder", arms=steps)
    distant = arms_at_distances(("rest", "hybrid"), (0.0, 20.0, 50.0))
    write_generated_run(root / "rtt", journeys_per_trial=200, kind="rtt", arms=distant)
    write_capacity_run(root / "stress", "stress")
    return {name: make_report(root / name)[0] for name in ALL}


@pytest.fixture(params=NAMED)
def report(request: pytest.FixtureRequest, reports: dict[str, Path]) -> Path:
    return reports[request.param]


class Opened:
    """A page, and the messages on its console."""

    def __init__(self, browser: Browser, report: Path, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self._note(request.url))
        self.page.goto(report.as_uri())

    def _note(self, url: str) -> None:
        if not url.startswith(("file:", "data:")):
            self.said.append(f"asks for {url}")

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()


# Colours do not affect the layout: elements have the same positions in the dark and the light scheme.
@pytest.fixture(scope="module", params=list(product(ALL, ("light", "phone"))), ids="-".join)
def opened(request: pytest.FixtureRequest, browser: Browser, reports: dict[str, Path]) -> Iterator[Opened]:
    """A report with all its details open, for tests that do not change the page."""
    name, mode = request.param
    with Opened(browser, reports[name], **MODES[mode]) as page:
        page.page.evaluate(OPEN_ALL)
        yield page


def test_it_opens_without_an_error_or_a_request(opened: Opened) -> None:
    assert opened.said == []


def test_the_page_is_never_wider_than_the_window(opened: Opened) -> None:
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("window", [WIDE, PHONE], ids=["wide", "phone"])
def test_long_names_push_nothing_out_of_sight(browser: Browser, tmp_path: Path, window: Any) -> None:
    trace = [replace(span, service=f"{span.service}{'x' * 500}", name="/a" * 90) for span in foreign_trace(1, 12)]
    (tmp_path / "traces.json").write_text(json.dumps({"data": [jaeger_trace(trace)]}), encoding="utf-8")
    page = tmp_path / "page.html"
    asked = ["budget", str(tmp_path / "traces.json"), "--html", str(page)]
    assert CliRunner().invoke(app, asked).exit_code == 0
    with Opened(browser, page, viewport=window) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ends = opened.page.evaluate(
            "[...document.querySelectorAll('caption, #table-operations td:nth-child(2)')]"
            ".map((one) => one.getBoundingClientRect().right - innerWidth)"
        )
        assert max(ends) <= 0


# A wide, dark comparison and a narrow, light bench: all combinations would take minutes, and check the same rules.
@pytest.mark.parametrize(("name", "seen"), [("noisy", "dark"), ("bench", "phone")])
def test_axe_finds_no_violation(browser: Browser, reports: dict[str, Path], name: str, seen: str) -> None:
    with Opened(browser, reports[name], **MODES[seen]) as opened:
        opened.page.evaluate(OPEN_ALL)
        assert opened.page.evaluate(MARK_LOOKS) > 20
        found = Axe(AXE_SCRIPT + CONTRAST_OF_LOOKS).run(opened.page)
        assert found.violations_count == 0, found.generate_report()


def test_every_chart_is_drawn(browser: Browser, report: Path) -> None:
    with Opened(browser, report, viewport=WIDE) as opened:
        opened.page.evaluate(OPEN_ALL)
        charts = opened.page.evaluate("""() => [
            ...document.querySelectorAll('figure:not(.narrow) .drawing')
        ].map((drawing) => ({
            name: drawing.ariaLabel,
            role: drawing.role,
            box: [drawing.getBoundingClientRect().width, drawing.getBoundingClientRect().height],
            marks: [...drawing.querySelectorAll(
                '[class*=role-mark] :is(path, line, text), path.link, rect.box',
            )].filter((mark) => {
                const box = mark.getBoundingClientRect();
                return box.width + box.height > 0.5;
            }).length,
            strange: /NaN|Infinity|undefined/.test(drawing.outerHTML),
        }))""")
        assert len(charts) > 40
        assert [chart for chart in charts if chart["marks"] == 0 or min(chart["box"]) < 20] == []
        assert [one for one in charts if one["strange"] or one["role"] != "img" or len(one["name"]) < 20] == []


def test_the_mean_budgets_fit_a_phone(browser: Browser, reports: dict[str, Path]) -> None:
    with Opened(browser, reports["compare"], viewport=PHONE) as opened:
        sizes = opened.page.locator("#conclusions .narrow .drawing").evaluate_all(
            "(all) => all.map((one) => [one.scrollWidth, one.clientWidth, one.clientHeight])"
        )
        assert len(sizes) == 1
        assert sizes[0][0] <= sizes[0][1]
        assert sizes[0][2] > 20
        assert not opened.page.locator("#conclusions .broad").is_visible()


def test_colours_of_charts_follow_the_page(browser: Browser, reports: dict[str, Path]) -> None:
    colours = []
    for scheme in ("light", "dark"):
        with Opened(browser, reports["compare"], viewport=WIDE, color_scheme=scheme) as opened:
            colours.append(
                opened.page.evaluate("""() => [...new Set([
                    ...document.querySelectorAll('#latency [class*=role-mark] path')
                ].map((mark) => getComputedStyle(mark).stroke + getComputedStyle(mark).fill))].sort()""")
            )
    assert colours[0] != colours[1]
    assert all("var(" not in colour for both in colours for colour in both)


def test_no_label_overlaps_another(opened: Opened) -> None:
    overlaps = opened.page.evaluate("""() => {
        const found = [];
        for (const svg of document.querySelectorAll('.drawing svg')) {
            const texts = [...svg.querySelectorAll('text')].filter((one) => one.textContent.trim());
            const boxes = texts.map((one) => one.getBoundingClientRect());
            for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
                const a = boxes[i], b = boxes[j];
                const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (wide <= 1 || tall <= 1) continue;
                const least = Math.min(a.width * a.height, b.width * b.height);
                if (wide * tall / least > 0.15) {
                    const title = svg.querySelector('title').textContent;
                    found.push([title, texts[i].textContent, texts[j].textContent]);
                }
            }
        }
        return found;
    }""")
    assert overlaps == []


def test_no_label_is_cut_off(opened: Opened) -> None:
    # Drawings that scroll cut off what is outside them.
    cut = opened.page.evaluate("""() => [...document.querySelectorAll('.wide .drawing text')].filter((text) => {
        const scrolls = text.closest('.drawing');
        const left = text.getBoundingClientRect().left + scrolls.scrollLeft;
        return text.textContent.trim() && left < scrolls.getBoundingClientRect().left;
    }).map((text) => text.textContent)""")
    assert cut == []


def test_the_first_heat_map_fits_a_phone(browser: Browser, reports: dict[str, Path]) -> None:
    with Opened(browser, reports["compare"], viewport=PHONE) as opened:
        table = opened.page.locator("#conclusions .scroll").first
        assert table.evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_no_element_overlaps_another(opened: Opened) -> None:
    overlaps = opened.page.evaluate("""() => {
        const found = [];
        const inside = [...document.querySelectorAll('.inside, section')].map((one) => [...one.children]);
        const groups = [...document.querySelectorAll('.charts')].map((one) => [...one.children]);
        for (const group of [[...document.querySelectorAll('main > section')], ...inside, ...groups]) {
            const boxes = group.map((one) => one.getBoundingClientRect());
            for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
                const a = boxes[i], b = boxes[j];
                const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (wide > 1 && tall > 1) found.push([group[i].textContent.trim().slice(0, 60), wide, tall]);
            }
        }
        return found;
    }""")
    assert overlaps == []


def test_a_table_sorts_by_click_and_by_key(browser: Browser, reports: dict[str, Path]) -> None:
    with Opened(browser, reports["compare"], viewport=WIDE) as opened:
        head = opened.page.locator("#table-latency thead th").nth(4)
        values = "(table) => [...table.tBodies[0].rows].map((row) => Number(row.cells[4].dataset.v))"
        table = opened.page.locator("#table-latency")
        opened.page.evaluate(OPEN_ALL)
        before = table.evaluate(values)
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        assert table.evaluate(values) == sorted(before) != before
        head.locator("button").focus()
        opened.page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        assert table.evaluate(values) == sorted(before, reverse=True)
        name = opened.page.locator("#table-latency thead th").first
        name.locator("button").focus()
        opened.page.keyboard.press("Space")
        first = "(table) => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent)"
        assert table.evaluate(first) == sorted(table.evaluate(first))
        assert head.get_attribute("aria-sort") is None


def test_the_first_key_leads_past_the_head(browser: Browser, reports: dict[str, Path]) -> None:
    with Opened(browser, reports["compare"], viewport=WIDE) as opened:
        opened.page.keyboard.press("Tab")
        assert opened.page.evaluate("document.activeElement.className") == "skip"
        opened.page.keyboard.press("Enter")
        assert opened.page.evaluate("document.activeElement.id") == "main"


def test_a_link_opens_its_section_and_the_contents_mark_it(browser: Browser, reports: dict[str, Path]) -> None:
    with Opened(browser, reports["compare"], viewport=WIDE) as opened:
        marked = opened.page.locator(".contents [aria-current]")
        assert marked.get_attribute("href") == "#conclusions"
        opened.page.locator(".verdict-line a").click()
        opened.page.locator("#table-gates").wait_for(state="visible")
        opened.page.wait_for_function("document.querySelector('.contents [aria-current]').hash === '#validity'")


def test_all_is_there_without_a_script(browser: Browser, report: Path) -> None:
    with Opened(browser, report, viewport=WIDE, java_script_enabled=False) as opened:
        assert opened.said == []
        assert opened.page.locator("thead button").count() == 0
        opened.page.locator("#latency summary").first.click()
        assert opened.page.locator("#table-latency").inner_text().count("\n") > 5
        assert opened.page.locator("#latency .drawing svg").first.is_visible()


def test_paper_is_white_and_says_noisy(browser: Browser, reports: dict[str, Path], tmp_path: Path) -> None:
    with Opened(browser, reports["noisy"], viewport=WIDE, color_scheme="dark") as opened:
        opened.page.emulate_media(media="print", color_scheme="dark")
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert "NOISY" in opened.page.locator("h1").inner_text()
        assert "NOISY" in opened.page.locator(".verdict-line").inner_text()
        printed = opened.page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
        assert len(printed) > 50_000
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2
