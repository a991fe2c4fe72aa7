"""`what-if`, `check` and `compare-traces` as users run them, on traces whose times are known."""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from hops.__main__ import app
from hops.analysis.of_traces.sets import compare_sets
from hops.analysis.of_traces.timelines import Timeline
from hops.report.templates import source
from hops.sources.files import read_file
from hops.sources.query import Answer
from hops.traces.span import Kind, Span
from synthetic.traces import BASE_NS, otlp_document

MS = 1_000_000


def write(path, traces, payment_ms=4.0, seed=1, operation="checkout", payment_ahead_ms=0):
    """Writes checkouts in which order calls payment and then works for 2 ms; payment takes about `payment_ms`."""
    rng = random.Random(seed)
    ahead = payment_ahead_ms * MS
    lines = []
    for number in range(traces):
        began = BASE_NS + number * 100 * MS
        work = round(payment_ms * rng.uniform(0.8, 1.2) * MS)
        spans = [
            ("", operation, Kind.SERVER, "order", 0, work + 2 * MS),
            ("1", "bank/Pay", Kind.CLIENT, "order", MS, work + MS),
            ("2", "bank/Pay", Kind.SERVER, "payment", MS + ahead, work + MS + ahead),
        ]
        made = [
            Span(
                f"{seed:016x}{number + 1:016x}", f"{at:016x}", parent.rjust(16, "0") if parent else "", *named,
                began + low, began + high, {} if parent else {"shop.journey": operation},
            )
            for at, (parent, *named, low, high) in enumerate(spans, 1)
        ]  # fmt: skip
        lines.append(json.dumps(otlp_document(made)))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return write(tmp_path_factory.mktemp("traces") / "a.jsonl", 700)


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    """Enough traces for a median, in tests of anything but figures."""
    return write(tmp_path_factory.mktemp("traces") / "some.jsonl", 40)


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    return write(tmp_path_factory.mktemp("traces") / "b.jsonl", 700, payment_ms=5.0, seed=2)


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_what_if_says_what_operations_would_take_and_where(traces):
    (row,) = json.loads(run("what-if", traces, "--change", "work:payment -50%", "--json").stdout)["operations"]
    p50, p99 = row["figures"]
    for figure in (p50, p99):
        low, high = figure["predicted_ci95"]
        assert low < figure["predicted_ms"] < high
        # The total is 2 ms plus payment's work, of which half is gone.
        assert figure["predicted_ms"] == pytest.approx((figure["measured_ms"] + 2) / 2, abs=1e-5)
    assert (row["operation"], row["traces"], row["changed"]) == ("checkout", 700, 700)
    assert row["critical"]["measured"] == "work:payment"


def test_a_single_trace_is_spoken_of_as_one(tmp_path):
    one = write(tmp_path / "one.jsonl", 1)
    document = json.loads(one.read_text())
    document["resourceSpans"] = [of for of in document["resourceSpans"] if "payment" not in json.dumps(of["resource"])]
    one.write_text(json.dumps(document))
    said = " ".join(run("what-if", one, "--remove", "order: Pay").output.split())
    for words in (
        "1 of 1 trace lacks spans",
        "1 of 1 trace takes a different time",
        "it needs 15 traces, and there is 1",
    ):
        assert words in said


def test_what_if_is_written_for_people_too(traces, tmp_path):
    file = tmp_path / "gone.yaml"
    file.write_text("remove: ['order: Pay']")
    text = " ".join(run("what-if", traces, "--scenario", file).stdout.split())
    assert text.startswith("checkout would have a median of 2.0")
    assert "work:order then has the largest share of the critical path, 100.0 %; it was work:payment before" in text
    assert "Queues are not modelled" in text
    assert run("what-if", traces, "--scenario", file, "--format", "markdown").stdout.startswith("# What if\n")


def test_what_if_shows_no_table_of_parts_that_hardly_change(traces):
    said = run("what-if", traces, "--change", "work:payment -50%").stdout
    assert "parts that have more or less" in said
    said = run("what-if", traces, "--change", "work:payment -0.1%").stdout
    assert "700 of 700 traces take a different time" in said
    assert "parts that have more or less" not in said


LIMITS = """
checkout:
  total: {p50: 7 ms, p99: 6500 us}
  work:payment: {mean: 3.5 ms}
  wire:order->payment: {p99_band: 1ms}
"""


def test_check_breaks_what_is_above_its_limit(traces, tmp_path):
    file = tmp_path / "budgets.yaml"
    file.write_text(LIMITS)
    result = run("check", file, traces, "--json")
    assert [row["state"] for row in json.loads(result.stdout)["limits"]] == ["holds", "broken", "broken", "holds"]
    assert result.exit_code == 1
    suite = ElementTree.fromstring(run("check", file, traces, "--format", "junit").stdout)[0]
    counts = [suite.get(name) for name in ("name", "tests", "failures", "errors")]
    assert counts == ["checkout", "4", "2", "0"]
    assert suite.findall("testcase/failure")[0].text == f"{file}:3"
    assert "| checkout | total | p50 | holds |" in run("check", file, traces, "--format", "markdown").stdout
    assert "2 of 4 limits broken." in run("check", file, traces).stdout


def test_check_against_a_baseline_breaks_only_what_is_slower_than_that(traces, tmp_path):
    file = tmp_path / "budgets.yaml"
    file.write_text(LIMITS)
    alike = write(tmp_path / "alike.jsonl", 700, seed=2)
    faster = write(tmp_path / "faster.jsonl", 700, payment_ms=2.0, seed=2)
    for baseline, states in (
        (alike, ["holds", "in doubt", "in doubt", "holds"]),
        (faster, ["holds", "broken", "broken", "holds"]),
    ):
        result = run("check", file, traces, "--against", baseline, "--json")
        assert [row["state"] for row in json.loads(result.stdout)["limits"]] == states
    assert "not shown to be above the baseline's" in run("check", file, traces, "--against", alike).stdout
    few = write(tmp_path / "few.jsonl", 100, seed=2)
    result = run("check", file, traces, "--against", few, "--json")
    assert [(row["state"], row["reason"]) for row in json.loads(result.stdout)["limits"]] == [
        ("holds", None),
        ("cannot tell", "the baseline needs 600 traces, and there are 100"),
        ("in doubt", None),
        ("holds", None),
    ]
    assert result.exit_code == 2
    other = write(tmp_path / "other.jsonl", 700, operation="buy")
    refused = run("check", file, traces, "--against", other).stderr
    assert "'checkout' is not an operation in the traces; valid: buy" in refused


def test_time_that_nothing_explains_may_have_a_limit_where_there_is_none(traces, tmp_path):
    file = tmp_path / "budgets.yaml"
    file.write_text("checkout: {unattributed: {mean: 1 ms, p99: 1 ms}}")
    result = run("check", file, traces, "--json")
    assert result.exit_code == 0, result.output
    assert [row["measured_ms"] for row in json.loads(result.stdout)["limits"]] == [0, 0]


def test_check_cannot_tell_from_too_few_traces(tmp_path):
    file = tmp_path / "budgets.yaml"
    file.write_text("checkout: {total: {p50: 7 ms, p99: 1 ms}}")
    result = run("check", file, write(tmp_path / "few.jsonl", 100))
    assert result.exit_code == 2
    assert "cannot tell: needs 600 traces, and there are 100" in " ".join(result.stdout.split())
    assert "0 of 2 limits broken, 1 not tested: needs 600 traces, and there are 100." in " ".join(result.stdout.split())
    assert "<error" in run("check", file, tmp_path / "few.jsonl", "--format", "junit").stdout


WRONG = {
    "operation": ("checkout: {total: {p50: 1 ms}}\nbuy:\n  total: {p50: 1 ms}",
                  ":2: 'buy' is not an operation in the traces; valid: checkout"),
    "part": ("checkout:\n  work:bank: {p50: 1 ms}",
             ":2: 'work:bank' is not a part of checkout; did you mean work:payment? valid: total, "),
    "figure": ("checkout:\n  total:\n    p98: 1 ms",
               ":3: checkout.total.p98: is not a figure; did you mean p99? valid: mean, p50"),
    "time": ("checkout:\n  total: {p50: 1}",
             ":2: checkout.total.p50: 1 is not a time; give a number with ns, us, ms or s"),
    "form": ("checkout:\n  total: 1 ms",
             ":2: checkout.total: must be a mapping of figures and times, such as p99: 200 ms, not"),
    "twice": ("checkout:\n  total: {p50: 1 ms}\n  total: {p99: 1 ms}",
              ":3: not valid YAML: the key 'total' appears twice"),
    "YAML": ("checkout:\n  total: {p50: 1 ms", ":2: not valid YAML"),
    "nothing": ("", ":1: is empty"),
    "no limits": ("checkout: {}", ":1: has no limits"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_of_limits_is_refused_with_its_line(some, tmp_path, text, message):
    file = tmp_path / "budgets.yaml"
    file.write_text(text)
    result = run("check", file, some)
    assert result.exit_code == 2
    assert f"{file}{message}" in result.output


def test_all_unknown_names_of_limits_are_reported_at_once(some, tmp_path):
    file = tmp_path / "budgets.yaml"
    file.write_text("checkout:\n  work:bank: {p50: 1 ms, p99: 1 ms}\nbuy:\n  total: {p50: 1 ms}")
    output = run("check", file, some).output
    assert (output.count(f"{file}:2: 'work:bank'"), output.count(f"{file}:3: 'buy'")) == (1, 1)


def test_an_operation_may_have_an_arrow_in_its_name(tmp_path):
    named = write(tmp_path / "a.jsonl", 20, operation="orders -> mail")
    file = tmp_path / "budgets.yaml"
    file.write_text("orders -> mail:\n  wire:order->payment: {p50: 1 s}")
    result = run("check", file, named)
    assert result.exit_code == 0, result.output


def test_a_slower_set_is_shown_with_the_part_that_made_it_so(traces, slower):
    result = run("compare-traces", traces, slower, "--json")
    found = json.loads(result.stdout)
    assert {row["metric"]: row["verdict"] for row in found["figures"]} == dict.fromkeys(
        ("mean", "p50", "p99"), "slower"
    )
    part = found["parts"][0]
    assert (part["part"], part["shown"]) == ("work:payment", True)
    assert part["ci95"][0] < 1.0 < part["ci95"][1]
    text = " ".join(run("compare-traces", slower, traces).stdout.split())
    assert "checkout is faster in B; most of it in work:payment: −1.0" in text
    assert "This is not an experiment" in text


@pytest.mark.parametrize(
    ("zeros", "reasons"),
    [(90, ["one side is 0 in a section"] * 2 + [None]), (700, ["one side is 0"] * 3)],
)
def test_a_coarse_clock_s_times_of_0_have_no_ratio(zeros, reasons):
    a, b = ({"look": Timeline(np.where(np.arange(700) < count, 0.0, 5.0), {})} for count in (0, zeros))
    found = compare_sets(a, b)
    assert [row.reason for row in found.figures] == reasons
    assert [row.verdict for row in found.figures] == ["cannot tell" if reason else "not shown" for reason in reasons]
    json.dumps(found.as_document(), allow_nan=False)


def test_equal_sets_show_nothing_and_operations_of_one_are_named(traces, tmp_path):
    other = write(tmp_path / "other.jsonl", 700, seed=3)
    browsing = write(tmp_path / "browsing.jsonl", 1, seed=4, operation="browse")
    other.write_text(f"{other.read_text()}\n{browsing.read_text()}")
    text = run("compare-traces", traces, other).stdout
    assert "No operation is shown to be slower or faster." in text
    assert "Only in B: browse." in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["what-if", "TRACES"], "the scenario changes nothing"),
        (["what-if", "TRACES", "--change", "work:bank -5%"], "choose from"),
        (["what-if", "/nowhere/x.json", "--remove", "db:order"], "/nowhere/x.json"),
        (["what-if", "TRACES", "--format", "junit"], "'junit' is not one of 'text', 'markdown'"),
        (["check", "/nowhere/budgets.yaml", "TRACES"], "/nowhere/budgets.yaml"),
        (["compare-traces", "TRACES", "."], "this folder has no files"),
    ],
)
def test_wrong_input_is_refused_with_the_reason(some, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run(*(some if one == "TRACES" else one for one in arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("check", ["BUDGETS"]),
        ("check", ["BUDGETS", "TRACES", "--against"]),
        ("what-if", ["--remove", "order: Pay"]),
        ("compare-traces", ["TRACES"]),
    ],
)
def test_a_refused_input_is_in_the_result_and_in_the_exit_code(some, tmp_path, command, others):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("# Notes")
    (tmp_path / "in" / "a.jsonl").symlink_to(some)
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text("checkout: {total: {p50: 1 s}}")
    asked = [command, *({"BUDGETS": budgets, "TRACES": some}.get(one, one) for one in others), tmp_path / "in"]
    result = run(*asked, "--json")
    assert result.exit_code == 2
    (refused,) = json.loads(result.stdout)["refused"]
    assert "notes.txt" in refused
    for form in ("text", "markdown"):
        assert "Refused: " in run(*asked, "--format", form).stdout
    budgets.write_text("checkout: {total: {p50: 1 ms}}")
    if command == "check":
        suites = ElementTree.fromstring(run(*asked, "--format", "junit").stdout)
        assert suites[-1].find("testcase/error").get("message") == refused
        assert run(*asked).exit_code == (2 if "--against" in others else 1)


def test_several_sources_with_other_names_are_one_set(traces, slower, tmp_path):
    names = tmp_path / "names.yaml"
    names.write_text("services: {payment: bank, cart: basket}")
    result = run("what-if", traces, slower, "--mapping", names, "--remove", "work:bank", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["operations"][0]["traces"] == 1400
    assert "These patterns in the file of names match nothing: services: cart." in result.stderr


def test_clocks_are_corrected_if_asked_under_any_names(tmp_path):
    ahead, budgets, names = (tmp_path / name for name in ("ahead.jsonl", "budgets.yaml", "names.yaml"))
    write(ahead, 20, payment_ahead_ms=50)
    measured = set()
    for name in ("payment", "bank"):
        names.write_text(f"services: {{payment: {name}}}")
        budgets.write_text(f"checkout: {{work:{name}: {{mean: 3 ms}}}}")
        options = [budgets, ahead, "--mapping", names, "--json"]
        as_sent, corrected = (run("check", *options, *asked) for asked in ([], ["--correct-clocks"]))
        assert (as_sent.exit_code, corrected.exit_code) == (0, 1)
        assert "Clocks corrected, as requested: payment by −50" in corrected.stderr.replace("-", "−")
        measured.add(json.loads(corrected.stdout)["limits"][0]["measured_ms"])
    assert len(measured) == 1


def test_an_address_is_asked_as_budget_asks_it(monkeypatch, traces, tmp_path):
    asked = []

    def answers(source, forced, query):
        asked.append((source, query.service, query.operation, query.limit, dict(query.headers)))
        yield Answer(source, read_file(io.BytesIO(traces.read_bytes()), source), is_search=True)

    monkeypatch.setattr("hops.sources.trace_set.answers", answers)
    options = ["--service", "order", "--operation", "checkout", "--limit", "700", "--header", "a: b", "--json"]
    result = run("compare-traces", "http://before", "http://after", *options)
    assert asked == [(f"http://{one}", "order", "checkout", 700, {"a": "b"}) for one in ("before", "after")]
    assert "http://after: it gave as many traces as --limit 700" in json.loads(result.stdout)["limited"][1]


def test_sets_without_a_common_operation_are_refused(some, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(some.read_text().replace("checkout", "browse"))
    result = run("compare-traces", some, other)
    assert result.exit_code == 2
    assert "no operation is in both sets: A has checkout; B has browse" in result.output


def test_none_of_the_three_needs_polars_or_scipy(some, tmp_path):
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text("checkout: {total: {p50: 1 s}}")
    code = f"""
import sys
sys.modules |= dict.fromkeys(("polars", "scipy", "jinja2", "aiohttp"))
from hops.commands.check import check, CheckFormat
from hops.commands.compare_traces import compare_traces
from hops.commands.what_if import what_if
from pathlib import Path
what_if([{str(some)!r}], change=["work:payment -50%"])
check(Path({str(budgets)!r}), [{str(some)!r}], written=CheckFormat.MARKDOWN)
compare_traces({str(some)!r}, {str(some)!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_all_three_read_traces_to_their_last_span_and_name_those_without_times(draw, tmp_path):
    lines = []
    for number in range(40):
        spans = draw("""
front publish     PRODUCER 0..2000000
`- worker process  CONSUMER 60000000..110000000
""")
        began = number * 1_000_000_000
        moved = [
            Span(
                f"{number + 1:032x}", one.span_id, one.parent_id, one.name, one.kind, one.service,
                one.start_ns + began if number else 17_000_000_000, one.end_ns + began,
            )
            for one in spans
        ]  # fmt: skip
        lines.append(json.dumps(otlp_document(moved)))
    file, budgets = tmp_path / "traces.jsonl", tmp_path / "budgets.yaml"
    file.write_text("\n".join(lines))
    budgets.write_text('"front: publish": {total: {mean: 111 ms}, "messaging:front→worker": {mean: 58 ms}}')
    checked = run("check", budgets, file, "--end-to-end", "--json")
    assert checked.exit_code == 0, checked.output
    found = json.loads(checked.stdout)
    assert [row["measured_ms"] for row in found["limits"]] == [110, 58]
    named = (
        "Left out: 1 of 40 traces, because the root has no times or impossible times, or ends before it begins. "
        f"The first is {1:032x}."
    )
    assert found["left_out"] == [named]
    compared = json.loads(run("compare-traces", file, file, "--end-to-end", "--json").stdout)
    assert {row["a_ms"] for row in compared["figures"]} == {110}
    assert compared["left_out"] == [named, named]
    asked = ["what-if", file, "--change", "work:worker -50%", "--end-to-end"]
    (row,) = json.loads(run(*asked, "--json").stdout)["operations"]
    assert [(one["measured_ms"], one["predicted_ms"]) for one in row["figures"]] == [(110, 85), (110, 85)]
    assert named in " ".join(run(*asked).output.split())
    (row,) = json.loads(run("what-if", file, "--change", "work:worker -50%", "--json").stdout)["operations"]
    assert [one["measured_ms"] for one in row["figures"]] == [2, 2]


@pytest.mark.parametrize(
    ("command", "others", "answer"),
    [
        ("check", ["BUDGETS", "TRACES"], "2 of 4 limits broken"),
        ("what-if", ["TRACES", "--change", "work:payment -50%"], "checkout would have a median of "),
        ("compare-traces", ["TRACES", "SLOWER"], "checkout is slower in B"),
    ],
)
def test_all_three_begin_with_the_answer_and_have_a_report_s_page(traces, slower, tmp_path, command, others, answer):
    budgets, page = tmp_path / "budgets.yaml", tmp_path / "page.html"
    budgets.write_text(LIMITS)
    given = {"BUDGETS": budgets, "TRACES": traces, "SLOWER": slower}
    result = run(command, *(given.get(one, one) for one in others), "--html", page)
    assert result.exit_code == (1 if command == "check" else 0), result.output
    assert result.stdout.startswith(answer)
    written = page.read_text()
    assert re.search(rf"<h1>{answer}[^<]*(?<!\.)</h1>", written)
    assert written.count('<details class="chapter">') == 1  # how far to trust it
    assert "700 traces" in written or "1,400 traces" in written
    assert str(source("style.css")) in written
    assert not re.search(r'(?:src|href)="(?!#|data:)', written)
